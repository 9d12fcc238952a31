import DeliveryRules
import Postgres
import PushModel
import Reactor
import Store
import Synchronization
import Testing

// Saturday, 31 October 2026, noon in Greenwich.
private let dawn = StoreWorld.dawn
private let hour: Duration = .seconds(3_600)

@Suite("An app's quiet hours")
struct QuietHourTests {
    @Test("hold a push back until they are over on its device's own clock, and its badge with it")
    func waits() async throws {
        try await withStores { world in
            // Noon in Greenwich: 13 in Paris, 17:30 in India, 2 in the night on Kiritimati.
            try await world.register(zones: [
                nil, "Europe/Paris", "GMT+05:30", "Pacific/Kiritimati", "Mars/Olympus_Mons",
            ])
            try await world.spare(quiet: (22, 13))
            try await world.send(world.newMessage(badge: .increment, lifetime: hour * 48))
            #expect(try await world.deliverAll() == [2, 3])
            #expect(try await world.badges() == [0, 1, 1, 0, 0])
            #expect(try await world.account().pending == 3)
            #expect(try await world.deliverAll(at: dawn + hour + .seconds(-1)) == [])
            #expect(try await world.deliverAll(at: dawn + hour) == [1, 5])
            #expect(try await world.deliverAll(at: dawn + hour * 11 + .seconds(-1)) == [])
            #expect(try await world.deliverAll(at: dawn + hour * 11) == [4])
            #expect(try await world.badges() == [1, 1, 1, 1, 1])
            #expect(try await world.account().state == .finished)
        }
    }

    @Test("suppress what doesn't live until they are over")
    func suppressed() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, "Europe/Paris"])
            try await world.spare(quiet: (11, 13))
            try await world.send(world.newMessage(badge: .increment, lifetime: hour))
            #expect(try await world.deliverAll() == [2])
            #expect(
                try await world.suppressed() == [EndingTotal(ending: Ending(.suppressed, "quiet_hours"), count: 1)])
            #expect(try await world.badges() == [0, 1])
        }
    }

    @Test("take nothing of a message's rate from those who are awake")
    func rate() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, nil] + [String?](repeating: "Europe/Paris", count: 4))
            try await world.spare(quiet: (11, 13))
            var message = world.newMessage(lifetime: hour * 48)
            message.ratePerSecond = 20
            try await world.send(message)
            let order = LeaseOrder(
                route: try await world.route(), owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1],
                scope: .paced)
            for sent in [[], [RegistrationID(3), RegistrationID(4)]] {
                let share = try #require(try await world.stores.parcels.leasePaced(order, now: dawn).parcel)
                #expect(share.members.count == 2 && share.heldCount == 2 - sent.count)
                #expect(try await world.deliver(share) == sent)
            }
            #expect(try await world.stores.parcels.leasePaced(order, now: dawn).parcel == nil)
            let soon = dawn + .milliseconds(100)
            #expect(try await world.stores.parcels.leasePaced(order, now: soon).parcel?.members.count == 2)
        }
    }

    /// 25 October 2026: at three in the night, Paris, it is two again. 28 March 2027: at two it is three.
    @Test(
        "are over when the clock on the wall says so, also in the nights in which it is changed",
        arguments: [
            (from: 1_792_875_600, to: 1_792_911_600), (from: 1_806_184_800, to: 1_806_213_600),
        ])
    func clockChanges(now: Int64, end: Int64) async throws {
        try await withStores { world in
            try await world.register(zones: [nil])
            try await world.spare(quiet: (22, 8), zone: "Europe/Paris")
            let night = WallInstant(secondsSince1970: now)
            let morning = WallInstant(secondsSince1970: end)
            try await world.send(world.newMessage(lifetime: hour * 24), at: night)
            let parcel = try #require(try await world.lease(at: night))
            #expect(parcel.holds == [.quietHours(until: morning, isCounted: false)])
        }
    }

    @Test("are judged at each lease by what is set then, and who was sent to before keeps its mark")
    func changed() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, "Europe/Paris"])
            try await world.send(world.newMessage(badge: .increment, lifetime: hour * 24))
            let free = try #require(try await world.lease())
            #expect(free.holds.isEmpty)
            try await world.spare(quiet: (11, 13))
            #expect(try await world.stores.parcels.rescue(now: dawn + .seconds(61)) == 1)
            let held = try #require(try await world.lease(at: dawn + .seconds(61)))
            #expect(held.holds == [.quietHours(until: dawn + hour, isCounted: true), .none])
            try await world.deliver(held)
            try await world.spare()
            #expect(try await world.deliverAll(at: dawn + hour) == [1])
            #expect(try await world.badges() == [1, 1])
        }
    }

    @Test("that are shortened, taken away or moved to another clock free at once whoever waited for their end")
    func moved() async throws {
        let changes: [(hours: (from: Int, to: Int)?, zone: String)] = [
            ((11, 12), "UTC"), (nil, "UTC"), ((11, 13), "Asia/Tokyo"),
        ]
        for (hours, zone) in changes {
            try await withStores { world in
                try await world.register(zones: [nil, "Europe/Paris"])
                try await world.spare(quiet: (11, 13))
                try await world.send(world.newMessage(badge: .increment, lifetime: hour * 24))
                #expect(try await world.deliverAll() == [2])
                let later = dawn + .seconds(60)
                #expect(try await world.deliverAll(at: later) == [])
                try await world.spare(quiet: hours, zone: zone, at: later)
                #expect(try await world.deliverAll(at: later) == [1])
                #expect(try await world.badges() == [1, 1])
            }
        }
    }

    @Test("that are moved and last still let people wait until they end")
    func movedOn() async throws {
        try await withStores { world in
            try await world.register(zones: [nil])
            try await world.spare(quiet: (11, 15))
            try await world.send(world.newMessage(lifetime: hour * 24))
            #expect(try await world.deliverAll() == [])
            try await world.spare(quiet: (11, 13))
            #expect(try await world.deliverAll() == [])
            #expect(try await world.deliverAll(at: dawn + (hour - .seconds(1))) == [])
            #expect(try await world.deliverAll(at: dawn + hour) == [1])
        }
    }

    @Test("keep nobody back for longer where what was decided is written late")
    func settledLate() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, "Europe/Paris"])
            try await world.spare(quiet: (11, 13))
            try await world.send(world.newMessage(lifetime: hour * 24))
            let parcel = try #require(try await world.lease())
            let settlement = try world.accepted(parcel)
            let late = dawn + .milliseconds(1_800_001)
            #expect(try await world.stores.parcels.settle(settlement, now: late) == .settled)
            #expect(try await world.deliverAll(at: dawn + hour + .microseconds(-1)) == [])
            #expect(try await world.deliverAll(at: dawn + hour) == [1])
        }
    }

    @Test("are remembered by a parcel whose owner died: whom they held back gets its badge when it is sent to")
    func rescued() async throws {
        try await withStores { world in
            try await world.register(zones: [nil, "Europe/Paris"])
            try await world.spare(quiet: (11, 13))
            try await world.send(world.newMessage(badge: .increment, lifetime: hour * 24))
            _ = try #require(try await world.lease())
            #expect(try await world.badges() == [0, 1])
            let later = dawn + hour + .seconds(1)
            #expect(try await world.stores.parcels.rescue(now: later) == 1)
            let parcel = try #require(try await world.lease(at: later))
            #expect(parcel.holds.isEmpty && parcel.members.map(\.badge) == [1, 1])
            #expect(try await world.badges() == [1, 1])
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE uncounted IS NOT NULL") == 0)
        }
    }

    @Test("don't count for a message that says so, for one that nobody sees, and for a dry run")
    func exempt() async throws {
        try await withStores { world in
            try await world.register(zones: [nil])
            try await world.spare(quiet: (11, 13), cap: 1)
            let changes: [(inout NewMessage) -> Void] = [
                { $0.ignoredLimits = [.quietHours, .dailyCap] }, { $0.pushType = .background },
                { $0.isDryRun = true },
            ]
            for (place, change) in changes.enumerated() {
                var message = world.newMessage(UInt64(place + 1))
                change(&message)
                try await world.send(message)
                let parcel = try #require(try await world.lease())
                #expect(parcel.holds.isEmpty)
                try await world.deliver(parcel)
            }
            #expect(try await world.number("SELECT count(*) FROM user_days") == 0)
        }
    }
}

@Suite("An app's cap on messages a day")
struct DailyCapTests {
    @Test("counts a message once for all devices of a user, in whichever parcels, and each other device by itself")
    func devices() async throws {
        try await withStores { world in
            try await world.register(users: ["ann", "bob", "ann", nil, nil])
            try await world.spare(cap: 2)
            for number in UInt64(1)...3 {
                let message = world.newMessage(number, badge: .increment)
                try await world.send(message, parcelMembersMax: Int(number))
                #expect(try await world.deliverAll() == (number < 3 ? [1, 2, 3, 4, 5] : []))
            }
            #expect(
                try await world.suppressed(3) == [EndingTotal(ending: Ending(.suppressed, "daily_cap"), count: 5)])
            #expect(try await world.badges() == [2, 2, 2, 2, 2])
            #expect(try await world.number("SELECT count(*) FROM user_days") == 4)
        }
    }

    @Test("begins anew with the day of the app's clock")
    func nextDay() async throws {
        try await withStores { world in
            try await world.register(users: ["ann"])
            // It is two in the night there.
            try await world.spare(cap: 1, zone: "Pacific/Kiritimati")
            let midnight = dawn + hour * 22
            for (number, now) in [dawn, midnight + .seconds(-1), midnight, midnight + hour].enumerated() {
                try await world.send(world.newMessage(UInt64(number + 1)), at: now)
                #expect(try await world.deliverAll(at: now) == (number.isMultiple(of: 2) ? [1] : []))
            }
        }
    }

    @Test("counts a push that is tried again once, and lets it through whatever came since")
    func retries() async throws {
        try await withStores { world in
            try await world.register(users: ["ann"])
            try await world.spare(cap: 1)
            try await world.send(world.newMessage(1, badge: .increment))
            let first = try #require(try await world.lease())
            let settlement = first.settling([], remainders: [first.remainder(0..<1, after: .seconds(5))])
            #expect(try await world.stores.parcels.settle(settlement, now: dawn) == .settled)
            try await world.send(world.newMessage(2, badge: .increment))
            #expect(try await world.deliverAll() == [])
            #expect(try await world.deliverAll(at: dawn + .seconds(5)) == [1])
            #expect(try await world.account().count(.accepted) == 1)
            #expect(try await world.badges() == [1])
        }
    }

    @Test("holds for who was retired when a lease was lost, and is back before the next one")
    func back() async throws {
        try await withStores { world in
            try await world.register(users: ["ann"])
            try await world.spare(cap: 1)
            try await world.send(world.newMessage(1, badge: .increment, lifetime: hour))
            // Its token moves to somebody else's device.
            try await world.register(StoreWorld.registration("other", token: 1))
            let lost = try #require(try await world.lease())
            #expect(lost.members.map(\.standing) == [.retired])
            var said = StoreWorld.registration("i1", token: 2)
            said.user = .set("ann")
            try await world.register(said)
            let second = world.newMessage(2, audience: .installations(["i1"]), lifetime: hour)
            try await world.send(second)
            #expect(try await world.deliverAll() == [1])
            let later = dawn + .seconds(61)
            #expect(try await world.stores.parcels.rescue(now: later) == 1)
            let again = try #require(try await world.lease(at: later))
            #expect(again.id == lost.id && again.members.map(\.standing) == [.present])
            #expect(again.holds == [.dailyCap])
            #expect(try await world.badges() == [0, 0])
        }
    }

    @Test("stays decided where the owner dies, on either side of the day's end")
    func rescued() async throws {
        try await withStores { world in
            try await world.register(users: ["ann", "bob"])
            try await world.spare(cap: 1)
            try await world.send(world.newMessage(1, audience: .installations(["i1"])))
            #expect(try await world.deliverAll() == [1])
            let late = dawn + hour * 12 + .seconds(-1)
            try await world.send(world.newMessage(2, badge: .increment, lifetime: hour * 48), at: late)
            let first = try #require(try await world.lease(at: late))
            #expect(first.holds == [.dailyCap, .none])
            #expect(try await world.stores.parcels.rescue(now: late + .seconds(61)) == 1)
            // It is tomorrow: ann may have it now, bob has it on yesterday's account.
            let second = try #require(try await world.lease(at: late + .seconds(61)))
            #expect(second.holds.isEmpty && second.members.map(\.badge) == [1, 1])
            let days = "SELECT count(*) FROM user_days WHERE who = "
            #expect(try await world.number(days + "'user:ann'") == 2)
            #expect(try await world.number(days + "'user:bob'") == 1)
        }
    }

    @Test("holds where all of a user's messages are leased at once")
    func contended() async throws {
        try await withStores { world in
            try await world.register(users: (0..<40).map { "user-\($0 % 10)" })
            try await world.spare(cap: 3)
            for number in UInt64(1)...6 {
                try await world.send(world.newMessage(number, badge: .increment), parcelMembersMax: 7)
            }
            let route = try await world.route()
            let freed = try await withThrowingTaskGroup(of: Int.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let owner = ProcessID(UniversalID(high: 9, low: UInt64(number)))
                        let order = LeaseOrder(route: route, owner: owner, leaseFor: hour, knownFormats: [1])
                        var free = 0
                        while let parcel = try await world.stores.parcels.lease(order, now: dawn) {
                            free += parcel.holds.isEmpty ? parcel.members.count : parcel.holds.count { $0 == .none }
                        }
                        return free
                    }
                }
                return try await group.reduce(0, +)
            }
            #expect(freed == 120)
            #expect(try await world.number("SELECT sum(badge) FROM registration_pulse") == 120)
            #expect(try await world.number("SELECT count(*) FROM user_days WHERE cardinality(messages) = 3") == 10)
        }
    }

    @Test("keeps a person's count as long as the day lasts anywhere, and forgets it with the person")
    func swept() async throws {
        try await withStores { world in
            try await world.register(users: ["ann", "bob"])
            try await world.spare(cap: 5)
            let now = Clocks.wallNow()
            try await world.send(world.newMessage(1), at: now)
            #expect(try await world.deliverAll(at: now) == [1, 2])
            _ = try await world.stores.registry.erase(user: "ann", app: world.app)
            #expect(try await world.number("SELECT count(*) FROM user_days WHERE who = 'user:ann'") == 0)
            _ = try await world.stores.sweeper.sweep(now: now + hour * 24)
            #expect(try await world.number("SELECT count(*) FROM user_days") == 1)
            _ = try await world.stores.sweeper.sweep(now: now + hour * 48)
            #expect(try await world.number("SELECT count(*) FROM user_days") == 0)
        }
    }

    @Test("leaves nothing of a person who is erased while a message is being leased for them")
    func erased() async throws {
        try await withStores { world in
            try await world.register(users: ["ann", "bob"])
            try await world.spare(cap: 5)
            let now = Clocks.wallNow()
            try await world.send(world.newMessage(1), at: now)
            #expect(try await world.deliverAll(at: now) == [1, 2])
            try await world.pool.script("DELETE FROM user_days WHERE who = 'user:ann'")
            try await world.send(world.newMessage(2), at: now)
            let (pool, isErased) = (world.pool, Flag())
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let (lease, erasure) = try await pool.transaction {
                transaction throws(PostgresError) -> (Task<LeasedParcel?, any Error>, Task<Void, any Error>) in
                // Behind ann, whom the lease counts first.
                _ = try await transaction.run(query("SELECT FROM user_days WHERE who = 'user:bob' FOR UPDATE"))
                let lease = Task { try await world.lease(at: now) }
                while try await pool.read(query(waiting)).int64(0, 0) < 1 { await Task.yield() }
                let erasure = Task {
                    _ = try await world.stores.registry.erase(user: "ann", app: world.app)
                    isErased.raise()
                }
                while try await pool.read(query(waiting)).int64(0, 0) < 2, !isErased.isRaised {
                    await Task.yield()
                }
                return (lease, erasure)
            }
            _ = try await lease.value
            try await erasure.value
            #expect(try await world.number("SELECT count(*) FROM user_days WHERE who = 'user:ann'") == 0)
            #expect(try await world.number("SELECT count(*) FROM user_days WHERE who = 'user:bob'") == 1)
        }
    }
}

private final class Flag: Sendable {
    private let state = Mutex(false)
    var isRaised: Bool { state.withLock { $0 } }
    func raise() { state.withLock { $0 = true } }
}
