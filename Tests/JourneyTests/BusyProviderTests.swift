import JSON
import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("A provider that throttles every push")
    struct BusyProviderTests {
        private static let live = [Device](.live, 20_000)
        private static let pause = 20
        /// The most rejections. Without the circuit breaker each device's push would be rejected once.
        private static let refusedMax = 2_000
        private static let busy = SimulatorScript(
            answerDelay: .milliseconds(20),
            faults: [
                ScriptedFault(
                    .answer(
                        ScriptedAnswer(
                            status: 503, reason: "ServiceUnavailable",
                            headers: [HeaderLine(name: "retry-after", value: "\(pause)")])),
                    at: 1, every: 1)
            ])

        private static func wait(
            for cause: String, _ message: String, _ gateway: Gateway
        ) async throws -> JSONObject? {
            let account = try await gateway.api.expect(200, "GET", "/v1/apps/garden/messages/\(message)")
            let reported =
                try JSONReader.read(Array(account.text.utf8)).object?["progress"]?.object?["waiting"]?.array ?? []
            return reported.compactMap(\.object).first { $0["for"]?.string == cause }
        }

        @Test("gets few pushes of a broadcast until a direct message finds that it has recovered")
        func opens() async throws {
            try await World.within(production: StandIn.Traits(streamLimit: 50)) { world in
                let gateway = try await world.gateway()
                try await world.fill(.garden, Self.live, through: gateway)
                await world.production.simulator.follow(Self.busy)
                let broadcast = try await gateway.broadcast(.garden)
                try await eventually("the circuit breaker to open") {
                    gateway.program.logged.contains("Circuit breaker opened")
                }
                try await eventually("no parcel to be leased") {
                    try await world.database { pool in
                        try await pool.number("SELECT count(*) FROM parcels WHERE state = 2") == 0
                    }
                }
                let received = await world.production.simulator.summary()
                #expect(received.requests > 0 && received.requests < Self.refusedMax && received.accepted == 0)
                try await eventually("the account to show the cause of waiting") {
                    let wait = try await Self.wait(for: "throttled", broadcast, gateway)
                    return wait?["until"]?.string != nil && wait?["since"]?.string != nil
                        && (wait?["pushes"]?.integer ?? 0) > Int64(Self.live.count - Self.refusedMax)
                }

                await world.production.simulator.follow(SimulatorScript())
                let phone = Self.live[0]
                let single = try await gateway.send(
                    .garden, audience: #"{"installations": ["\#(phone.installation)"]}"#)
                #expect(try await gateway.finished(single, of: .garden).terminalCounts == ["accepted": 1])
                let account = try await gateway.finished(broadcast, of: .garden)
                #expect(account.addsUp && account.terminalCounts == ["accepted": Self.live.count])
                let after = await world.production.simulator.summary()
                #expect(after.accepted == Self.live.count + 1)
                #expect(after.requests - after.accepted < Self.refusedMax)
                try await gateway.stopGently()
            }
        }
    }
}
