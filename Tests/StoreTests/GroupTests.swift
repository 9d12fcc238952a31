import Basis
import Model
import Postgres
import QueueRules
import Store
import Testing

private let dawn = StoreWorld.dawn

@Suite("A group of messages to single devices")
struct GroupTests {
    private func badges(_ parcels: [LeasedParcel]) -> [Int32] { parcels.flatMap { $0.members.map(\.badge) } }

    private func committed(_ world: StoreWorld) async throws -> Int {
        // PostgreSQL publishes the counters of a backend with a delay.
        try await world.pool.script("SELECT pg_stat_force_next_flush()")
        return try await world.number(
            "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
    }

    @Test("shares one lease in order, each message with its own epoch, members and token")
    func together() async throws {
        try await withStores { world in
            let ids = try await world.register(1...3)
            try await world.sendEach(["i2", "i1", "i3"])
            let parcels = try await world.leaseGroup()
            #expect(parcels.map(\.message) == [1, 2, 3].map(StoreWorld.message))
            #expect(parcels.map { $0.members.map(\.registration) } == [[ids[1]], [ids[0]], [ids[2]]])
            #expect(parcels.map(\.tokens) == [2, 1, 3].map { StoreWorld.token($0).bytes })
            #expect(parcels.allSatisfy { $0.epoch == 1 && $0.leasedAt == dawn + .seconds(1) })
            #expect(try await world.leaseGroup(owner: StoreWorld.bob).isEmpty)
        }
    }

    @Test("raises a device's badge once per message and in order, in a single lease")
    func badgesInOrder() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.sendEach(["i1", "i2", "i1"], badge: .increment)
            try await world.sendEach(["i1"], badge: .value(7), from: 4)
            try await world.sendEach(["i1", "i1"], badge: .increment, from: 5)
            try await world.sendEach(["i1"], from: 7)
            #expect(badges(try await world.leaseGroup()) == [1, 1, 2, 7, 8, 9, 0])
            #expect(try await world.device("i1").badge == 9)
            #expect(try await world.device("i2").badge == 1)
            // A second lease does not raise the badges again, and shows their values at that time.
            let late = dawn + .seconds(100)
            #expect(try await world.stores.parcels.rescue(now: late) == 7)
            #expect(badges(try await world.leaseGroup(at: late)) == [9, 1, 9, 9, 9, 9, 0])
            #expect(try await world.device("i1").badge == 9)
        }
    }

    @Test("stays within the lease's limits, and a broadcast's parcel follows by itself")
    func bounded() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.send(world.newMessage(1))
            try await world.sendEach(["i1", "i2", "i3", "i4"], from: 2)
            let two = LeaseGroup(parcelsMax: 2, membersMax: 1_000)
            #expect(try await world.leaseGroup(two).map(\.message) == [2, 3].map(StoreWorld.message))
            let one = LeaseGroup(parcelsMax: 64, membersMax: 1)
            #expect(try await world.leaseGroup(one).map(\.message) == [StoreWorld.message(4)])
            #expect(try await world.leaseGroup().map(\.message) == [StoreWorld.message(5)])
            #expect(try await world.leaseGroup().map(\.message) == [StoreWorld.message(1)])
            #expect(try await world.leaseGroup().isEmpty)
        }
    }

    @Test("can be leased for a full lane, unlike the parcel of a broadcast")
    func urgent() async throws {
        try await withStores { world in
            try await world.register(1...2)
            try await world.send(world.newMessage(1))
            #expect(try await world.leaseGroup(scope: .urgent).isEmpty)
            try await world.sendEach(["i1", "i2", "i1"], badge: .increment, from: 2)
            let parcels = try await world.leaseGroup(scope: .urgent)
            #expect(parcels.map(\.message) == [2, 3, 4].map(StoreWorld.message))
            #expect(parcels.allSatisfy { $0.urgency == .transactional })
            #expect(badges(parcels) == [1, 1, 2])
            #expect(try await world.leaseGroup(scope: .urgent).isEmpty)
            let bulk = try await world.leaseGroup()
            #expect(bulk.map(\.message) == [StoreWorld.message(1)] && bulk.map(\.urgency) == [.bulk])
        }
    }

    @Test("leaves paused and rate-limited messages behind, and the others are leased")
    func kept() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.sendEach(["i1", "i2", "i3", "i4"])
            // The pause is not carried out yet.
            try await world.pool.script(
                "UPDATE messages SET state = 5 WHERE id = '\(StoreWorld.message(2).value.text)'")
            try await world.pool.script(
                "UPDATE messages SET rate_per_second = 9 WHERE id = '\(StoreWorld.message(3).value.text)'")
            #expect(try await world.leaseGroup().map(\.message) == [1, 4].map(StoreWorld.message))
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 3 AND epoch = 0") == 1)
            #expect(try await world.number("SELECT count(*) FROM parcels WHERE state = 4 AND epoch = 0") == 1)
        }
    }

    @Test("stops before a damaged parcel, which is set aside alone, and continues after it")
    func damaged() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.sendEach(["i1", "i2", "i3"])
            let bad = try await world.number("SELECT id FROM parcels ORDER BY id OFFSET 1 LIMIT 1")
            try await world.pool.script(#"UPDATE parcels SET members = '\xff' WHERE id = \#(bad)"#)
            #expect(try await world.leaseGroup().map(\.message) == [StoreWorld.message(1)])
            let order = LeaseOrder(
                route: try await world.route(), owner: StoreWorld.ann, leaseFor: .seconds(60), knownFormats: [1])
            let now = dawn + .seconds(1)
            let found = await fault { () async throws(StoreFault) in
                try await world.stores.parcels.lease(order, now: now)
            }
            #expect(found == .damaged("parcel \(bad): parcel_claim, column 12"))
            #expect(try await world.leaseGroup().map(\.message) == [StoreWorld.message(3)])
        }
    }

    @Test("settles together, and a message lost to another process affects no other one")
    func settled() async throws {
        try await withStores { world in
            try await world.register(1...3)
            try await world.sendEach(["i1", "i2", "i3"])
            let own = try await world.leaseGroup()
            // The lease of the second parcel lapsed, and another process has leased it.
            try await world.pool.script(
                "UPDATE parcels SET lease_until = '2000-01-01' WHERE id = \(own[1].id.value)")
            #expect(try await world.stores.parcels.rescue(now: dawn + .seconds(2)) == 1)
            let theirs = try #require(try await world.leaseGroup(owner: StoreWorld.bob).first)
            let refused = TerminalStatus(.rejected, "PayloadTooLarge")
            let replies = await world.stores.parcels.settle(
                [own[2].settlingAll(as: refused), own[1].settlingAll(), own[0].settlingAll()], now: dawn)
            let status = ParcelStatus(epoch: 2, settles: 0, isLeased: true)
            #expect(replies == [.success(.settled), .success(.fenced(status: status)), .success(.settled)])
            #expect(try await world.account(StoreWorld.message(1)).state == .finished)
            #expect(try await world.account(StoreWorld.message(2)).state == .sending)
            let third = try await world.account(StoreWorld.message(3))
            #expect(third.state == .finished && third.reasons.map(\.terminalStatus) == [refused])
            // The settlement is repeated after a lost reply. It is fenced without a row.
            let again = await world.stores.parcels.settle(
                [own[0].settlingAll(), theirs.settlingAll()], now: dawn)
            #expect(again == [.success(.fenced(status: nil)), .success(.settled)])
            #expect(try await world.account(StoreWorld.message(2)).state == .finished)
        }
    }

    @Test("stays leased while it is renewed, and a lost or locked lease fails alone")
    func renewed() async throws {
        try await withStores { world in
            try await world.register(1...4)
            try await world.sendEach(["i1", "i2", "i3", "i4"])
            let parcels = world.stores.parcels
            let own = try await world.leaseGroup()
            let names = own.map { LeaseName(parcel: $0.id, epoch: $0.epoch) }
            let at = dawn + .seconds(40)
            let byOther = await parcels.renew(names, owner: StoreWorld.bob, for: .seconds(60), now: at)
            #expect(byOther == names.map { _ in .success(false) })
            #expect(try await parcels.settle([own[1].settlingAll()], now: dawn)[0].get() == .settled)
            let locked = own[2].id.value
            let replies = try await world.pool.transaction { transaction throws(PostgresError) in
                _ = try await transaction.run(query("SELECT FROM parcels WHERE id = \(locked) FOR UPDATE"))
                return await parcels.renew(
                    [names[3], LeaseName(parcel: own[0].id, epoch: 0), names[1], names[2], names[0]],
                    owner: StoreWorld.ann, for: .seconds(60), now: at)
            }
            #expect(
                replies == [
                    .success(true), .success(false), .success(false), .failure(.contended), .success(true),
                ])
            #expect(try await parcels.rescue(now: dawn + .seconds(62)) == 1)
            #expect(try await parcels.rescue(now: dawn + .seconds(100)) == 0)
            #expect(try await parcels.rescue(now: dawn + .seconds(101)) == 2)
            let late = await parcels.renew(names, owner: StoreWorld.ann, for: .seconds(60), now: at)
            #expect(late == names.map { _ in .success(false) })
        }
    }

    @Test("gets planned in one step, including a message whose device is unknown")
    func planned() async throws {
        try await withStores { world in
            try await world.register(1...2)
            for (number, name) in ["i1", "nobody", "i2"].enumerated() {
                let message = world.newMessage(
                    UInt64(number + 1), urgency: .transactional, audience: Audience(.installations([name])))
                _ = try await world.stores.messages.accept([message], now: dawn)
            }
            guard case .planned(let slices) = try await world.stores.messages.plan(knownFormats: [1], now: dawn)
            else { return #expect(Bool(false), "nothing was planned") }
            #expect(slices.map(\.message) == [1, 2, 3].map(StoreWorld.message))
            #expect(slices.map(\.isFinished) == [false, true, false])
            #expect(
                try await world.account(StoreWorld.message(2)).reasons.map(\.terminalStatus.reason) == [
                    "unknown_device"
                ])
            #expect(try await world.leaseGroup().map(\.message) == [1, 3].map(StoreWorld.message))
            #expect(try await world.number("SELECT count(*) FROM plans") == 0)
        }
    }

    @Test("costs fewer than 25 transactions for 50 messages")
    func transactions() async throws {
        // All transactions are counted by a single backend.
        var one = PoolSettings()
        one.connectionsMax = 1
        try await withStores(pool: one) { world in
            try await world.register(1...50)
            for number in 1...50 {
                let message = world.newMessage(
                    UInt64(number), urgency: .transactional, badge: .increment,
                    audience: Audience(.installations(["i\(number)"])))
                _ = try await world.stores.messages.accept([message], now: dawn)
            }
            let before = try await committed(world)
            _ = try await world.stores.messages.plan(knownFormats: [1], now: dawn)
            let parcels = try await world.leaseGroup()
            #expect(parcels.count == 50)
            let replies = await world.stores.parcels.settle(parcels.map { $0.settlingAll() }, now: dawn)
            #expect(replies.allSatisfy { $0 == .success(.settled) })
            #expect(try await world.number("SELECT count(*) FROM messages WHERE state = 6") == 50)
            let transactions = try await committed(world) - before
            #expect(transactions < 25, "\(transactions) transactions for 50 messages")
        }
    }
}
