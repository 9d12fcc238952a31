import TestSupport
import Testing

extension Journeys {
    @Suite("Rejections that prove nothing about a token")
    struct TokenTruthTests {
        @Test("retire no device if a 410 is older than the registration")
        func oldUnregistered() async throws {
            let live = [Device](.live, 180)
            let reinstalled = [Device](.unregisteredLongAgo, 20)
            try await World.within { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, live + reinstalled, through: gateway)
                let message = try await gateway.broadcast(.garden)
                let account = try await gateway.finished(message, of: .garden)

                #expect(account.addsUp)
                #expect(account.terminalCounts == ["accepted": 180, "unregistered": 20])
                #expect(try await gateway.feedback(.garden) == [])
                for device in reinstalled { #expect(try await gateway.state(of: device, .garden) == "active") }
                // The next message includes them again.
                let again = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
                #expect(again.audience == 200)
                try await gateway.stopGently()
            }
        }

        @Test("retire a few suspected tokens among many, but none if a whole batch is rejected")
        func badDeviceTokens() async throws {
            let batch = [Device](.bad, 200)
            let good = [Device](.live, 200, family: 1)
            let bad = [Device](.bad, 8, family: 1)
            // Longer than a repeated registration takes. Suspicions are checked every fifteen seconds.
            try await World.within(settings: ["SUSPECT_WINDOW_SECONDS": "10"]) { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, batch, through: gateway)
                try await world.fill(.forest, good + bad, through: gateway)
                let mistaken = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
                #expect(mistaken.addsUp && mistaken.terminalCounts == ["rejected": 200])
                let usual = try await gateway.finished(try await gateway.broadcast(.forest), of: .forest)
                #expect(usual.addsUp && usual.terminalCounts == ["accepted": 200, "rejected": 8])
                for device in [batch[0], batch[199]] {
                    #expect(try await gateway.state(of: device, .garden) == "suspected")
                }
                #expect(try await gateway.state(of: bad[0], .forest) == "suspected")
                try await gateway.api.expect(
                    200, "PUT", "/v1/apps/forest/devices/\(bad[0].installation)",
                    bad[0].registration(named: false, environment: "sandbox"))

                try await eventually("the few bad tokens to be retired") {
                    try await gateway.feedback(.forest).count { $0.verdict == "retired" } == bad.count - 1
                }
                let retired = try await gateway.feedback(.forest).filter { $0.verdict == "retired" }
                #expect(retired.map(\.installation).sorted() == bad.dropFirst().map(\.installation).sorted())
                #expect(retired.allSatisfy { $0.reason == "BadDeviceToken" })
                #expect(try await gateway.state(of: bad[0], .forest) == "active")
                // The same check of suspicions, which are older here, left these tokens alone.
                #expect(try await gateway.feedback(.garden).allSatisfy { $0.verdict != "retired" })
                for device in [batch[0], batch[199]] {
                    #expect(try await gateway.state(of: device, .garden) == "suspected")
                }
                try await gateway.stopGently()
            }
        }
    }
}
