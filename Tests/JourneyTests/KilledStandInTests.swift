import TestSupport
import Testing

extension Journeys {
    @Suite("A provider that is killed in the middle of a broadcast")
    struct KilledStandInTests {
        private static let live = [Device](.live, 24_000)
        private static let dead = [Device](.gone, 600)
        private static let connectionsMax = 4
        /// The stand-in's stream limit per connection.
        private static let streamsMax = 1_000
        private static let perSecond = 4_000

        @Test("gets every push after two restarts; only unanswered pushes are repeated")
        func killed() async throws {
            try await StandInProgram.within { standIn in
                let settings = [
                    "APNS_PRODUCTION_URL": standIn.url, "PROVIDER_CA_FILE": standIn.authority,
                    "REQUEST_DEADLINE_SECONDS": "5", "LEASE_SECONDS": "15",
                    "CONNECTIONS_PER_LANE": "\(Self.connectionsMax)",
                ]
                try await World.within(settings: settings) { world in
                    let gateway = try await world.gateway()
                    try await world.fill(.garden, Self.live + Self.dead, through: gateway)
                    let message = try await gateway.send(
                        .garden,
                        """
                        {"audience": {"all": true}, "badge": "increment",
                         "options": {"rate_per_second": \(Self.perSecond)},
                         "notification": {"title": "Carillon", "body": "\(World.text)"}}
                        """)[0]
                    for death in 1...2 {
                        try await standIn.answered(atLeast: 7_000 * death)
                        try await standIn.kill()
                        try await eventually("the gateway to notice that the provider is unreachable") {
                            gateway.program.logged.components(separatedBy: "its provider can't be reached").count
                                > death
                        }
                        #expect(try await gateway.account(message, of: .garden).state == "sending")
                        try await standIn.startAgain()
                        // A provider that dies again before that is no news to the gateway.
                        try await eventually("the gateway to send again") {
                            gateway.program.logged.components(separatedBy: "A lane can send again").count > death
                        }
                    }

                    let account = try await gateway.finished(message, of: .garden)
                    #expect(account.addsUp)
                    #expect(account.terminalCounts == ["accepted": Self.live.count, "unregistered": Self.dead.count])
                    let receipts = try standIn.receipts(of: Self.live)
                    #expect(receipts.withoutRepeats == .onceEach(Self.live.count))
                    #expect(receipts.repeats <= 2 * Self.connectionsMax * Self.streamsMax)
                    print("two deaths of the stand-in: \(receipts.repeats) repeated")
                    try await gateway.stopGently()
                }
            }
        }
    }
}
