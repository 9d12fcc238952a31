import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("Many messages to one phone")
    struct CrowdedPhoneTests {
        private static let phone = [Device](.live, 1)[0]
        /// One lease takes all of them.
        private static let count = 60

        @Test("leave in order after they waited for a credential, so that the badge only rises")
        func order() async throws {
            try await World.within(settings: ["CONNECTIONS_PER_LANE": "1"]) { world in
                let gateway = try await world.gateway()
                try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "garden", "name": "An app"}"#)
                try await gateway.register([Self.phone], of: .garden)
                var messages: [String] = []
                for _ in 0..<Self.count {
                    let audience = #"{"installations": ["\#(Self.phone.installation)"]}"#
                    messages.append(try await gateway.send(.garden, audience: audience))
                }
                try await eventually("all messages to be planned") {
                    try await world.database { pool in
                        try await pool.number("SELECT count(*) FROM parcels") == Self.count
                    }
                }
                try await world.activateToken(for: .garden, through: gateway)
                for message in messages {
                    #expect(try await gateway.finished(message, of: .garden).terminalCounts == ["accepted": 1])
                }
                let pushes = await world.production.simulator.received(Self.phone.deviceToken)
                #expect(try pushes.map { try $0.badge() } == (1...Self.count).map { Self.phone.badge + $0 })
                try await gateway.stopGently()
            }
        }
    }
}
