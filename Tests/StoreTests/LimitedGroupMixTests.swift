import Basis
import Model
import QueueRules
import Testing

// The time is noon in UTC and 13:00 in Paris on Saturday, 31 October 2026.
private let dawn = StoreWorld.dawn
private let hour: Duration = .seconds(3_600)
private let day = hour * 24

@Suite("A group of messages leased together under different app limits")
struct LimitedGroupMixTests {
    private func badges(_ parcels: [LeasedParcel]) -> [[Int32]] { parcels.map { $0.members.map(\.badge) } }

    private func days(_ world: StoreWorld, _ device: Int, _ messages: [UInt64]) async throws -> Bool {
        let ids = messages.map { "'\(StoreWorld.message($0).value.text)'" }.joined(separator: ", ")
        return try await world.number(
            "SELECT count(*) FROM user_days WHERE who = 'device:\(device)' AND messages = ARRAY[\(ids)]::uuid[]") == 1
    }

    private func uncounted(_ world: StoreWorld) async throws -> Int {
        try await world.number("SELECT count(*) FROM parcels WHERE uncounted IS NOT NULL")
    }

    @Test("includes a member that an earlier lease deferred, and counts each message once")
    func heldBefore() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, "Europe/Paris"])
            try await world.spare(quiet: (11, 13), cap: 2)
            let both = world.newMessage(
                1, urgency: .transactional, badge: .increment, audience: Audience(.installations(["i1", "i2"])),
                lifetime: day)
            try await world.send(both)
            let first = try #require(try await world.leaseGroup().first)
            let end = dawn + hour
            #expect(first.deferrals == [.quietHours(until: end, isCounted: false), .none])
            #expect(try await world.stores.parcels.rescue(now: dawn + .seconds(100)) == 1)
            try await world.sendEach(["i1", "i2", "i1"], badge: .increment, from: 2, lifetime: day)
            let parcels = try await world.leaseGroup(at: end)
            #expect(parcels.map(\.message) == (1...4).map(StoreWorld.message))
            #expect(parcels.map(\.deferrals) == [[], [], [], [.dailyCap]])
            #expect(parcels.map(\.neverSent) == [[true, false], [], [], []])
            #expect(badges(parcels) == [[1, 1], [2], [2], [2]])
            #expect(try await world.badges() == [2, 2])
            #expect(try await days(world, 1, [1, 2]))
            #expect(try await days(world, 2, [1, 3]))
            #expect(try await uncounted(world) == 1)
        }
    }

    @Test("raises the badge of deferred members once the limits are removed")
    func takenAway() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, "Europe/Paris"])
            try await world.spare(quiet: (11, 13))
            try await world.sendEach(["i1", "i1"], badge: .increment, lifetime: day)
            #expect(try await world.leaseGroup().allSatisfy { $0.deferrals.count == 1 })
            #expect(try await uncounted(world) == 2)
            let late = dawn + .seconds(100)
            #expect(try await world.stores.parcels.rescue(now: late) == 2)
            try await world.spare(at: late)
            try await world.sendEach(["i1", "i2"], badge: .increment, from: 3, lifetime: day)
            let parcels = try await world.leaseGroup(at: late)
            #expect(parcels.map(\.message) == (1...4).map(StoreWorld.message))
            #expect(parcels.allSatisfy { $0.deferrals.isEmpty })
            #expect(badges(parcels) == [[1], [2], [3], [1]])
            #expect(try await world.badges() == [3, 1])
            #expect(try await uncounted(world) == 0)
        }
    }

    @Test("applies to each message only the limits that it does not ignore")
    func ignoring() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, "Europe/Paris"])
            try await world.spare(quiet: (11, 13), cap: 1)
            let sent: [(name: String, ignored: AppLimits)] = [
                ("i1", []), ("i1", .quietHours), ("i1", [.quietHours, .dailyCap]), ("i1", .quietHours),
                ("i2", .dailyCap), ("i2", []), ("i2", []),
            ]
            for (place, message) in sent.enumerated() {
                try await world.sendEach([message.name], badge: .increment, from: UInt64(place + 1), lifetime: day) {
                    $0.ignoredLimits = message.ignored
                }
            }
            let parcels = try await world.leaseGroup()
            let asleep = MemberDeferral.quietHours(until: dawn + hour, isCounted: false)
            #expect(parcels.map(\.deferrals) == [[asleep], [], [], [.dailyCap], [], [], [.dailyCap]])
            #expect(try await world.badges() == [2, 2])
            #expect(try await days(world, 1, [2]))
            #expect(try await days(world, 2, [6]))
            #expect(try await uncounted(world) == 3)
        }
    }

    @Test("sets and raises a badge in order, and a deferred message leaves it unchanged")
    func values() async throws {
        try await withStores { world in
            try await world.register(users: ["ann"])
            try await world.spare(cap: 2)
            try await world.sendEach(["i1"], badge: .increment)
            try await world.sendEach(["i1"], badge: .value(7), from: 2)
            try await world.sendEach(["i1"], badge: .value(3), from: 3)
            try await world.sendEach(["i1"], badge: .increment, from: 4) { $0.ignoredLimits = .dailyCap }
            try await world.sendEach(["i1"], badge: .increment, from: 5)
            let parcels = try await world.leaseGroup()
            #expect(parcels.map(\.deferrals) == [[], [], [.dailyCap], [], [.dailyCap]])
            #expect(badges(parcels) == [[1], [7], [7], [8], [8]])
            #expect(try await world.badges() == [8])
        }
    }

    @Test("leaves an expired message out of the daily cap")
    func expired() async throws {
        try await withStores { world in
            try await world.register(zones: [nil])
            try await world.spare(cap: 2)
            try await world.sendEach(["i1"], badge: .increment)
            try await world.sendEach(["i1"], badge: .increment, from: 2, lifetime: .seconds(1))
            try await world.sendEach(["i1", "i1"], badge: .increment, from: 3)
            let parcels = try await world.leaseGroup(at: dawn + .seconds(2))
            #expect(parcels.map(\.message) == (1...4).map(StoreWorld.message))
            #expect(parcels.map(\.deferrals) == [[], [], [], [.dailyCap]])
            #expect(try await world.badges() == [2])
            #expect(try await days(world, 1, [1, 3]))
        }
    }

    @Test("exempts inline tokens from the daily cap, but not from quiet hours in the app's time zone")
    func inline() async throws {
        try await withStores { world in
            try await world.register(zones: ["Europe/Paris"])
            try await world.spare(quiet: (11, 13), cap: 1)
            let target = InlineTarget(
                provider: .apns, environment: .production, topic: StoreWorld.topic, token: StoreWorld.token(9))
            let sent: [(audience: Audience, ignored: AppLimits)] = [
                (.tokens([target]), []), (.tokens([target]), .quietHours), (Audience(.installations(["i1"])), []),
                (.tokens([target]), .quietHours), (Audience(.installations(["i1"])), []),
            ]
            for (place, registration) in sent.enumerated() {
                var message = world.newMessage(
                    UInt64(place + 1), urgency: .transactional, audience: registration.audience, lifetime: day)
                message.ignoredLimits = registration.ignored
                let now = dawn + .microseconds(Int64(place))
                #expect(try await world.stores.messages.accept([message], now: now) == .accepted)
                while try await world.stores.messages.plan(atMost: 1, knownFormats: [1, 2], now: now) != .nothing {}
            }
            let parcels = try await world.leaseGroup()
            let asleep = MemberDeferral.quietHours(until: dawn + hour, isCounted: false)
            #expect(parcels.map(\.message) == (1...5).map(StoreWorld.message))
            #expect(parcels.map(\.deferrals) == [[asleep], [], [], [], [.dailyCap]])
            #expect(try await world.number("SELECT count(*) FROM user_days") == 1)
        }
    }

    @Test("judges a message alone if the other messages are stopped")
    func leftAlone() async throws {
        try await withStores { world in
            try await world.register(zones: [nil])
            try await world.spare(cap: 1)
            for (turn, deferrals) in [[], [MemberDeferral.dailyCap]].enumerated() {
                let (stopped, free) = (UInt64(2 * turn + 1), UInt64(2 * turn + 2))
                try await world.sendEach(["i1", "i1"], badge: .increment, from: stopped)
                // The pause is not carried out yet.
                try await world.pool.script(
                    "UPDATE messages SET state = 5 WHERE id = '\(StoreWorld.message(stopped).value.text)'")
                let parcels = try await world.leaseGroup()
                #expect(parcels.map(\.message) == [StoreWorld.message(free)])
                #expect(parcels.map(\.deferrals) == [deferrals] && badges(parcels) == [[1]])
            }
            #expect(try await world.badges() == [1])
            #expect(try await days(world, 1, [2]))
            #expect(try await uncounted(world) == 1)
        }
    }
}
