import Basis
import Model
import Postgres
import QueueRules
import Reactor
import Store
import Synchronization
import Testing

// The time is noon in UTC on Saturday, 31 October 2026.
private let dawn = StoreWorld.dawn
private let hour: Duration = .seconds(3_600)

@Suite("An app's daily cap")
struct DailyCapTests {
    @Test("counts a message once per user across parcels, and once per device without a user")
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
                try await world.suppressed(3) == [
                    TerminalTotal(terminalStatus: TerminalStatus(.suppressed, "daily_cap"), count: 5)
                ])
            #expect(try await world.badges() == [2, 2, 2, 2, 2])
            #expect(try await world.number("SELECT count(*) FROM user_days") == 4)
        }
    }

    @Test("starts again at midnight of the app's time zone")
    func nextDay() async throws {
        try await withStores { world in
            try await world.register(users: ["ann"])
            // The time there is two in the morning.
            try await world.spare(cap: 1, zone: "Pacific/Kiritimati")
            let midnight = dawn + hour * 22
            for (number, now) in [dawn, midnight + .seconds(-1), midnight, midnight + hour].enumerated() {
                try await world.send(world.newMessage(UInt64(number + 1)), at: now)
                #expect(try await world.deliverAll(at: now) == (number.isMultiple(of: 2) ? [1] : []))
            }
        }
    }

    @Test("counts a retried push once, and lets the retry pass although the cap is reached")
    func retries() async throws {
        try await withStores { world in
            try await world.register(users: ["ann"])
            try await world.spare(cap: 1)
            try await world.send(world.newMessage(1, badge: .increment))
            let first = try #require(try await world.lease())
            let settlement = first.settling([], remainders: [first.remainder(0..<1, after: .seconds(5))])
            #expect(try await world.stores.parcels.settle([settlement], now: dawn)[0].get() == .settled)
            try await world.send(world.newMessage(2, badge: .increment))
            #expect(try await world.deliverAll() == [])
            #expect(try await world.deliverAll(at: dawn + .seconds(5)) == [1])
            #expect(try await world.account().count(.accepted) == 1)
            #expect(try await world.badges() == [1])
        }
    }

    @Test("applies to a device that was retired during a lost lease and registered again")
    func back() async throws {
        try await withStores { world in
            try await world.register(users: ["ann"])
            try await world.spare(cap: 1)
            try await world.send(world.newMessage(1, badge: .increment, lifetime: hour))
            // Another device registers the token.
            try await world.register(StoreWorld.registration("other", token: 1))
            let lost = try #require(try await world.lease())
            #expect(lost.members.map(\.status) == [.retired])
            var registration = StoreWorld.registration("i1", token: 2)
            registration.profile[.user] = .set("ann")
            try await world.register(registration)
            let second = world.newMessage(2, audience: .installations(["i1"]), lifetime: hour)
            try await world.send(second)
            #expect(try await world.deliverAll() == [1])
            let later = dawn + .seconds(61)
            #expect(try await world.stores.parcels.rescue(now: later) == 1)
            let again = try #require(try await world.lease(at: later))
            #expect(again.id == lost.id && again.members.map(\.status) == [.present])
            #expect(again.deferrals == [.dailyCap])
            #expect(try await world.badges() == [0, 0])
        }
    }

    @Test("treats a device as retired if it registers again while the lease waits for a row lock")
    func backMeanwhile() async throws {
        try await withStores { world in
            try await world.register(users: ["ann", "bob"])
            try await world.spare(cap: 5)
            try await world.send(world.newMessage(1, badge: .increment, lifetime: hour))
            try await world.register(StoreWorld.registration("other", token: 2))
            let pool = world.pool
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let lease = try await pool.transaction {
                transaction throws(PostgresError) -> Task<LeasedParcel?, any Error> in
                _ = try await transaction.run(
                    query("SELECT FROM registration_pulse WHERE registration_id = 1 FOR UPDATE"))
                _ = try await transaction.run(query("UPDATE registrations SET state = 1, token = '\\x07' WHERE id = 2"))
                let lease = Task { try await world.lease() }
                while try await pool.read(query(waiting)).int64(0, 0) < 1 { await Task.yield() }
                return lease
            }
            let parcel = try #require(try await lease.value)
            #expect(parcel.members.map(\.status) == [.present, .retired])
            #expect(parcel.members.map(\.badge) == [1, 0])
            #expect(try await world.number("SELECT count(*) FROM user_days") == 1)
        }
    }

    @Test("keeps the count of a lost lease on its day, and judges a deferred member by the new day")
    func rescued() async throws {
        try await withStores { world in
            try await world.register(users: ["ann", "bob"])
            try await world.spare(cap: 1)
            try await world.send(world.newMessage(1, audience: .installations(["i1"])))
            #expect(try await world.deliverAll() == [1])
            let late = dawn + hour * 12 + .seconds(-1)
            try await world.send(world.newMessage(2, badge: .increment, lifetime: hour * 48), at: late)
            let first = try #require(try await world.lease(at: late))
            #expect(first.deferrals == [.dailyCap, .none])
            #expect(try await world.stores.parcels.rescue(now: late + .seconds(61)) == 1)
            // It is the next day: ann may have the push now, and bob's push was counted on the day before.
            let second = try #require(try await world.lease(at: late + .seconds(61)))
            #expect(second.deferrals.isEmpty && second.members.map(\.badge) == [1, 1])
            let days = "SELECT count(*) FROM user_days WHERE who = "
            #expect(try await world.number(days + "'user:ann'") == 2)
            #expect(try await world.number(days + "'user:bob'") == 1)
        }
    }

    @Test("holds if many processes lease all messages of a user at the same time")
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
                        while let parcel = try await world.stores.parcels.lease(order, now: dawn).parcel {
                            free +=
                                parcel.deferrals.isEmpty ? parcel.members.count : parcel.deferrals.count { $0 == .none }
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

    @Test("keeps a user's count until the day has ended everywhere, or until the user is erased")
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

    @Test("leaves no count of a user who is erased during a lease")
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
                // The lock is on bob, since the lease counts ann first.
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
