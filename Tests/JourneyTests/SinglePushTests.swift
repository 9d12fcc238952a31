import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("A push to one device")
    struct SinglePushTests {
        private struct Listed: Decodable {
            struct Item: Decodable { let id: String }
            let items: [Item]
        }

        @Test("uses the accepted content, and does not read it from the database again")
        func content() async throws {
            try await World.within { world in
                let gateway = try await world.gateway()
                let device = [Device](.live, 1)
                try await world.fill(.garden, device, through: gateway)
                let path = "/v1/apps/garden/credentials"
                let listed = try await gateway.api.expect(200, "GET", path).decoded(Listed.self)
                let id = try #require(listed.items.first).id
                try await gateway.api.expect(204, "POST", "\(path)/\(id)/retire")
                let audience = #"{"installations": ["\#(device[0].installation)"]}"#
                let message = try await gateway.send(.garden, audience: audience)
                try await eventually("its parcel to wait for a credential") {
                    try await world.database { pool in try await pool.number("SELECT count(*) FROM parcels") == 1 }
                }
                try await world.database { pool in try await pool.script("DELETE FROM message_contents") }
                try await gateway.api.expect(200, "POST", "\(path)/\(id)/activate")
                let account = try await gateway.finished(message, of: .garden)
                #expect(account.terminalCounts == ["accepted": 1])
                #expect(try await world.production.receipts(of: device) == .onceEach(1))
                try await gateway.stopGently()
            }
        }
    }
}
