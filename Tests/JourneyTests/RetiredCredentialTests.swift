import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("A credential that is retired in the middle of a broadcast")
    struct RetiredCredentialTests {
        private static let live = [Device](.live, 4_000)

        /// The broadcast would take ten seconds, and is one parcel: all of it is leased from the start.
        private static func midBroadcast(_ body: (World, Gateway, _ message: String) async throws -> Void) async throws
        {
            let traits = StandIn.Traits(streamLimit: 20)
            try await World.within(settings: ["CONNECTIONS_PER_LANE": "1"], production: traits) { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, live, through: gateway)
                await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(50)))
                let message = try await gateway.broadcast(.garden)
                try await world.production.accepted(atLeast: 200)
                try await body(world, gateway, message)
                try await gateway.stopGently()
            }
        }

        private static func everythingIsBack(_ world: World) async throws {
            try await eventually("the parcel to return to the queue") {
                // A query that the database has no time for is repeated.
                let leased = try? await world.database { pool in
                    try await pool.number("SELECT count(*) FROM parcels WHERE state = 2")
                }
                return leased == 0
            }
        }

        @Test("serves only pushes in flight; the others wait for an active credential")
        func retired() async throws {
            try await Self.midBroadcast { world, gateway, message in
                struct Listed: Decodable {
                    struct Item: Decodable { let id: String }
                    let items: [Item]
                }
                let path = "/v1/apps/garden/credentials"
                let listed = try await gateway.api.expect(200, "GET", path).decoded(Listed.self)
                let id = try #require(listed.items.first).id
                try await gateway.api.expect(204, "POST", "\(path)/\(id)/retire")
                try await Self.everythingIsBack(world)
                #expect(await world.production.simulator.summary().requests < Self.live.count / 2)
                #expect(try await gateway.account(message, of: .garden).state == "sending")

                await world.production.simulator.follow(SimulatorScript())
                try await gateway.api.expect(200, "POST", "\(path)/\(id)/activate")
                let account = try await gateway.finished(message, of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": Self.live.count])
                #expect(try await world.production.receipts(of: Self.live) == .onceEach(Self.live.count))
            }
        }

        @Test("serves only pushes in flight when its app is deleted")
        func deleted() async throws {
            try await Self.midBroadcast { world, gateway, _ in
                try await gateway.api.expect(202, "DELETE", "/v1/apps/garden")
                try await Self.everythingIsBack(world)
                #expect(await world.production.simulator.summary().requests < Self.live.count / 2)
            }
        }
    }
}
