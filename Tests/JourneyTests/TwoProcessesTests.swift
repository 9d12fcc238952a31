import Basis
import Glibc
import Simulator
import TestSupport
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
                try await world.fill(.garden, live + dead, through: gateways[0])
                await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(100)))
                let message = try await gateways[0].broadcast(.garden)
                try await eventually("both gateways to lease its parcels") {
                    try await world.database { pool in
                        try await pool.number("SELECT count(DISTINCT owner) FROM parcels WHERE state = 2") == 2
                    }
                }
                let account = try await gateways[1].finished(message, of: .garden)

                #expect(account.addsUp)
                #expect(account.terminalCounts == ["accepted": live.count, "unregistered": dead.count])
                #expect(try await gateways[0].account(message, of: .garden) == account)
                #expect(try await world.production.receipts(of: live) == .onceEach(live.count))
                #expect(try await gateways[1].feedback(.garden).count == dead.count)
                for gateway in gateways { try await gateway.stopGently() }
            }
        }

        @Test("share an FCM project's quota, and ramp up no faster than one gateway")
        func quota() async throws {
            // A hundred per second, reached within a minute.
            let settings = ["FCM_MESSAGES_PER_MINUTE": "6000", "PARCEL_MEMBERS": "20"]
            let tokens = (0..<200).map { "live-\($0)-0000000000000000" }
            try await World.within(settings: settings) { world in
                let gateways = [try await world.gateway(), try await world.gateway()]
                try await world.fill(.garden, [], through: gateways[0])
                try await gateways[0].api.expect(201, "POST", "/v1/apps/garden/credentials", world.google.credential)
                try await gateways[0].registerFCM(tokens)
                // One gateway would take all of so small a message before the other looks; each must have one.
                var messages: [String] = []
                for (turn, gateway) in gateways.enumerated() {
                    let other = gateways[1 - turn]
                    other.program.kill(SIGSTOP)
                    defer { other.program.kill(SIGCONT) }
                    messages.append(try await gateway.send(.garden, audience: #"{"all": true}"#))
                    try await eventually("the gateway to lease parcels") {
                        try await world.database { pool in
                            let owners = "SELECT count(DISTINCT owner) FROM parcels WHERE state = 2"
                            return try await pool.number(owners) == turn + 1
                        }
                    }
                }
                try await eventually("both gateways to know of each other") {
                    try await world.database { pool in
                        try await pool.number("SELECT count(*) FROM project_senders") == 2
                    }
                }
                for message in messages {
                    #expect(
                        try await gateways[1].finished(message, of: .garden).terminalCounts == [
                            "accepted": tokens.count
                        ])
                }

                var arrivals: [WallInstant] = []
                for token in tokens { arrivals += await world.google.requests(to: token).map(\.arrivedAt) }
                arrivals.sort()
                try #require(arrivals.count == 2 * tokens.count)
                // One quota allows ten at once and 69 in five seconds. Two would allow 158, and all of them in 11
                // seconds.
                let first = arrivals.count { $0 - arrivals[0] <= .seconds(5) }
                #expect(first <= 120, "the pace starts at a tenth of 100 a second and grows for a minute")
                #expect(arrivals[arrivals.count - 1] - arrivals[0] >= .seconds(13), "one gateway takes 17 seconds")
                for gateway in gateways { try await gateway.stopGently() }
            }
        }
    }
}
