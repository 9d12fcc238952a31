import Basis
import Model
import Store
import Synchronization
import Testing

private let dawn = StoreWorld.dawn

@Suite("A planning step for several messages")
struct PlanGroupTests {
    private func plan(
        _ world: StoreWorld, idsMax: Int = 20_000, at now: WallInstant = dawn
    ) async throws -> PlanReply {
        try await world.stores.messages.plan(
            idsMax: idsMax, knownFormats: [1], now: now)
    }

    private func planned(_ reply: PlanReply) -> [MessageID] {
        if case .planned(let slices) = reply { slices.map(\.message) } else { [] }
    }

    private func one(_ numbers: ClosedRange<UInt64>) -> [MessageID] { numbers.map(StoreWorld.message) }

    /// Registers "i<number>" for user "u<number>".
    private func people(_ world: StoreWorld, _ numbers: ClosedRange<Int>) async throws {
        for number in numbers {
            var registration = StoreWorld.registration("i\(number)", token: number)
            registration.profile[.user] = .set("u\(number)")
            try await world.register(registration)
        }
    }

    @Test("plans audiences of installations, users and tokens, for all providers or some")
    func allKinds() async throws {
        try await withStores { world in
            try await people(world, 1...3)
            let tokens = [3, 99].map {
                InlineTarget(
                    provider: .apns, environment: .production, topic: StoreWorld.topic, token: StoreWorld.token($0))
            }
            try await world.acceptEach([
                .users(["u2", "nobody"]), .installations(["i1", "i2"]), .tokens(tokens),
                Audience(.installations(["i1"]), providers: [.fcm]), Audience(.users(["u3"]), providers: [.apns]),
                Audience(.installations(["i3", "nobody"]), providers: [.apns]),
            ])
            let reply = try await plan(world)
            #expect(planned(reply) == one(1...6))
            guard case .planned(let slices) = reply else { return }
            #expect(slices.map(\.members) == [1, 2, 2, 0, 1, 1])
            #expect(slices.map(\.isFinished) == [false, false, false, true, false, false])
            #expect(slices.allSatisfy { $0.isPlanned })
            #expect(
                try await world.account(StoreWorld.message(1)).reasons.map(\.terminalStatus.reason) == ["unknown_user"])
            #expect(
                try await world.account(StoreWorld.message(6)).reasons.map(\.terminalStatus.reason) == [
                    "unknown_device"
                ])
            #expect(try await world.number("SELECT count(*) FROM plans") == 0)
            let parcels = try await world.leaseGroup()
            #expect(parcels.map(\.message) == [1, 2, 3, 5, 6].map(StoreWorld.message))
            let replies = await world.stores.parcels.settle(parcels.map { $0.settlingAll() }, now: dawn)
            #expect(replies.allSatisfy { $0 == .success(.settled) })
            #expect(try await world.number("SELECT count(*) FROM messages WHERE state = 6") == 6)
        }
    }

    @Test("stops at a message larger than its slice; later steps finish that message alone")
    func goesOn() async throws {
        try await withStores { world in
            for number in 1...5 {
                var registration = StoreWorld.registration("i\(number)", token: number)
                registration.profile[.user] = .set("ann")
                try await world.register(registration)
            }
            try await world.acceptEach([
                .installations(["i1"]), .users(["ann"]), .installations(["i2"]), .installations(["i3"]),
            ])
            let first = try await plan(world, idsMax: 3)
            #expect(planned(first) == one(1...2))
            guard case .planned(let slices) = first else { return }
            #expect(slices.map(\.isPlanned) == [true, false] && slices.map(\.members) == [1, 3])
            #expect(try await world.account(StoreWorld.message(2)).audience == nil)
            #expect(planned(try await plan(world, idsMax: 3)) == one(3...4))
            #expect(planned(try await plan(world, idsMax: 3)) == one(2...2))
            #expect(try await plan(world, idsMax: 3) == .nothing)
            #expect(try await world.account(StoreWorld.message(2)).audience == 5)
            #expect(try await world.members(of: StoreWorld.message(2)).count == 5)
        }
    }

    @Test("alternates with the slices of a broadcast, which is planned by itself")
    func besideSlices() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.acceptEach([.all, .installations(["i1"]), .installations(["i2"])])
            #expect(planned(try await plan(world, idsMax: 2)) == one(1...1))
            #expect(planned(try await plan(world, idsMax: 2)) == one(2...3))
            #expect(planned(try await plan(world, idsMax: 2)) == one(1...1))
        }
    }

    @Test("stops before a damaged message; the next step puts that message aside by name")
    func damaged() async throws {
        try await withStores { world in
            try await world.register(1...5)
            try await world.acceptEach((1...5).map { .installations(["i\($0)"]) })
            let bad = StoreWorld.message(3).value.text
            try await world.pool.script("UPDATE message_contents SET audience = 'x' WHERE message_id = '\(bad)'")
            #expect(planned(try await plan(world)) == one(1...2))
            #expect(
                try await plan(world) == .putAside(.damaged("plan of message \(bad): plan_claim, column 8")))
            #expect(planned(try await plan(world)) == one(4...5))
            #expect(try await plan(world) == .nothing)
        }
    }

    @Test("plans no broadcast when it is asked for transactional messages only")
    func transactionalAlone() async throws {
        try await withStores { world in
            try await world.register(1...2)
            _ = try await world.stores.messages.accept(world.newMessage(), now: dawn)
            try await world.acceptEach([.installations(["i1"]), .installations(["i2"])], from: 2)
            let received = Mutex(0)
            func plan(alone: Bool) async throws -> [MessageID] {
                let urgencies = PlannedUrgencies(transactionalAlone: alone) { received.withLock { $0 += 1 } }
                return planned(
                    try await world.stores.messages.plan(
                        knownFormats: [1], urgencies, now: dawn))
            }
            #expect(try await plan(alone: true) == one(2...3))
            try await world.acceptEach([.installations(["i1"])], from: 4)
            #expect(try await plan(alone: true) == one(4...4))
            #expect(try await plan(alone: true) == [] && received.withLock { $0 } == 0)
            #expect(try await plan(alone: false) == one(1...1) && received.withLock { $0 } == 1)
        }
    }

    @Test("reports the second slice of a single large audience as it reports a broadcast")
    func heardOf() async throws {
        try await withStores { world in
            let crowd = (1...2_100).map { number in
                var registration = StoreWorld.registration("i\(number)", token: number)
                registration.profile[.user] = .set("ann")
                return registration
            }
            _ = await world.stores.registry.register(crowd, app: world.app, now: dawn)
            try await world.acceptEach([.users(["ann"])])
            let received = Mutex(0)
            func plan() async throws -> PlanReply {
                try await world.stores.messages.plan(
                    knownFormats: [1], PlannedUrgencies { received.withLock { $0 += 1 } },
                    now: dawn)
            }
            #expect(planned(try await plan()) == one(1...1) && received.withLock { $0 } == 0)
            #expect(planned(try await plan()) == one(1...1) && received.withLock { $0 } == 1)
            #expect(try await world.account().audience == 2_100)
            #expect(try await plan() == .nothing)
        }
    }

    @Test("gives each app a part, and starts with the app whose turn it is")
    func appsRoundRobin() async throws {
        try await withStores { world in
            let other = try await world.neighbour()
            try await people(world, 1...1)
            try await world.acceptEach((1...20).map { _ in .installations(["i1"]) })
            _ = try await world.stores.messages.accept(
                other.newMessage(99, urgency: .transactional, audience: .installations(["i1"])), now: dawn)
            var reply = try await world.stores.messages.plan(
                atMost: 8, knownFormats: [1], now: dawn)
            #expect(planned(reply) == [1, 99, 2, 3, 4].map(StoreWorld.message))
            _ = try await world.stores.messages.accept(
                other.newMessage(98, urgency: .transactional, audience: .installations(["i1"])), now: dawn)
            reply = try await world.stores.messages.plan(
                atMost: 8, knownFormats: [1], now: dawn)
            #expect(planned(reply) == [98, 5, 6, 7, 8].map(StoreWorld.message))
            reply = try await world.stores.messages.plan(
                atMost: 8, knownFormats: [1], now: dawn)
            #expect(planned(reply) == one(9...16))
        }
    }

    @Test("puts a damaged broadcast aside, and plans those of all apps after it")
    func damagedBroadcast() async throws {
        try await withStores { world in
            let other = try await world.neighbour()
            for world in [world, other] { try await world.register(1...4) }
            for (number, world) in [(1, world), (2, world), (9, other)] as [(UInt64, StoreWorld)] {
                _ = try await world.stores.messages.accept(world.newMessage(number), now: dawn)
            }
            let bad = StoreWorld.message(1).value.text
            try await world.pool.script("UPDATE message_contents SET audience = 'x' WHERE message_id = '\(bad)'")
            #expect(
                try await plan(world, idsMax: 3) == .putAside(.damaged("plan of message \(bad): plan_claim, column 8")))
            for number in [9, 2, 9, 2] as [UInt64] {
                #expect(planned(try await plan(world, idsMax: 3)) == one(number...number))
            }
            #expect(try await plan(world, idsMax: 3) == .nothing)
        }
    }

    @Test("turns to another app when other processes hold the plans of the first")
    func allHeld() async throws {
        try await withStores { world in
            let other = try await world.neighbour()
            try await people(world, 1...1)
            try await world.acceptEach([.installations(["i1"]), .installations(["i1"])])
            for number in [98, 99] as [UInt64] {
                _ = try await world.stores.messages.accept(
                    other.newMessage(number, urgency: .transactional, audience: .installations(["i1"])), now: dawn)
            }
            _ = try await world.stores.messages.accept(world.newMessage(50), now: dawn)
            try await world.holding("plans WHERE priority = 1 AND app_id = \(world.app.value)") { () async throws in
                let reply = try await world.stores.messages.plan(
                    atMost: 1, knownFormats: [1], now: dawn)
                #expect(planned(reply) == [98].map(StoreWorld.message))
            }
        }
    }

    @Test("skips a message that another transaction holds, and puts it aside for a moment")
    func locked() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.acceptEach((1...4).map { .installations(["i\($0)"]) })
            try await world.holding("messages WHERE id = '\(StoreWorld.message(2).value.text)'") { () async throws in
                #expect(planned(try await plan(world)) == [1, 3, 4].map(StoreWorld.message))
                #expect(try await plan(world) == .putAside(.contended))
                #expect(try await plan(world) == .nothing)
            }
            #expect(planned(try await plan(world, at: dawn + .seconds(1))) == one(2...2))
        }
    }
}
