import Postgres
import Simulator
import Testing

extension Journeys {
    @Suite("Two gateways on one database")
    struct TwoProcessesTests {
        @Test("share a broadcast: each device gets it once, and the account adds up")
        func share() async throws {
            let live = [Device](.live, 39_200)
            let dead = [Device](.gone, 800)
            try await World.within(production: .init(streamLimit: 50)) { world in
                let gateways = [try await world.gateway(), try await world.gateway()]
                try await world.furnish(.garden, live + dead, through: gateways[0])
                await world.production.simulator.follow(APNsScript(answerDelay: .milliseconds(100)))
                let message = try await gateways[0].broadcast(.garden)
                try await eventually("both to own parcels of it") {
                    try await world.database { pool in
                        try await pool.number("SELECT count(DISTINCT owner) FROM parcels WHERE state = 2") == 2
                    }
                }
                let account = try await gateways[1].finished(message, of: .garden)

                #expect(account.addsUp)
                #expect(account.endings == ["accepted": live.count, "unregistered": dead.count])
                #expect(try await gateways[0].account(message, of: .garden) == account)
                #expect(try await world.production.receipts(of: live) == .onceEach(live.count))
                #expect(try await gateways[1].feedback(.garden).count == dead.count)
                for gateway in gateways { try await gateway.stopGently() }
            }
        }
    }
}
