import Model
import Postgres
import QueueRules
import Store
import TestSupport
import Testing

@Suite("Wake-ups whose lane has room")
struct LeasedFanOutTests {
    private static let everyRoute: CutAdmission = { Set($0.keys) }

    @Test("leave where they are cut: two transactions from the write to the push")
    func transactions() async throws {
        var settings = PoolSettings.patient
        settings.connectionsMax = 1
        try await withFanOuts(pool: settings) { world in
            var reads = 0
            func committed() async throws -> Int {
                try await world.world.pool.script("SELECT pg_stat_force_next_flush()")
                return try await world.world.number(
                    "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")
            }
            try await world.subscribe("phone", "/a")
            // Vacuum of the server's own adds transactions now and then, so the fewest count.
            var cost = Int.max
            for _ in 1...3 {
                let before = try await committed()
                cost = min(cost, try await committed() - before)
            }
            // All transactions, without those of these counts.
            func transactions() async throws -> Int {
                reads += 1
                return try await committed() - cost * reads
            }
            var fewest = Int.max
            for round in 1...9 where fewest > 3 {
                let start = try await transactions()
                try await world.put("/a", "\(round)")
                // The second one tells other processes.
                try await eventually("the write and its notification") { try await transactions() - start >= 2 }
                let written = try await world.fanOutLeasing(Self.everyRoute)
                fewest = min(fewest, try await transactions() - start)
                let lease = try #require(written.leases.first)
                #expect(written.leases.count == 1 && written.ready == [])
                #expect(lease.parcels.map(\.tokens) == [Array(FanOutWorld.token("phone").utf8)])
                for parcel in lease.parcels {
                    _ = await world.world.stores.parcels.settle([parcel.settlingAll()], now: world.now)
                }
            }
            #expect(fewest == 3, "the write, its notification of other processes, and the fan-out that leases")
        }
    }

    @Test("get the same lease there as later, and the same settle")
    func likeLater() async throws {
        try await withFanOuts { world in
            for device in ["one", "two"] { try await world.subscribe(device, "/a") }
            var leased: [LeasedParcel] = []
            for round in 1...2 {
                try await world.put("/a", "\(round)")
                if round == 1 {
                    #expect(try await world.fanOut() == 1)
                    leased.append(try #require(try await world.world.lease(at: world.now)))
                } else {
                    let written = try await world.fanOutLeasing(Self.everyRoute)
                    leased += written.leases.flatMap(\.parcels)
                }
                #expect(leased.count == round)
                let last = try #require(leased.last)
                let settlement = last.settlingAll(as: TerminalStatus(.accepted))
                #expect(try await world.world.stores.parcels.settle([settlement], now: world.now)[0].get() == .settled)
            }
            #expect(leased[0].members == leased[1].members && leased[0].epoch == leased[1].epoch)
            #expect(leased[0].urgency == leased[1].urgency && leased[0].tokens == leased[1].tokens)
            #expect(try await world.world.number("SELECT count(*) FROM parcels") == 0)
        }
    }

    @Test("wait for any lease if no route is admitted, or if they have many receivers")
    func notAdmitted() async throws {
        try await withFanOuts { world in
            try await world.subscribe("phone", "/few")
            for number in 1...101 { try await world.subscribe("phone-\(number)", "/many") }
            try await world.put("/few", "1")
            let none = try await world.fanOutLeasing { _ in [] }
            #expect(none.leases == [] && none.ready.count == 1)
            #expect(none.ready.first?.hasUrgent == true)
            try await world.put("/many", "1")
            let many = try await world.fanOutLeasing(Self.everyRoute)
            #expect(many.leases == [] && many.ready.map(\.hasUrgent) == [false])
        }
    }
}
