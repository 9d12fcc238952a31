import Simulator
import TestSupport
import Testing

extension Journeys {
    /// The token in the database is old enough for a new one to be signed (20 minutes), and young enough to be used
    /// (50). Apple's clock is ahead of ours, so that Apple takes it for more than an hour old. The next token is young
    /// for both.
    @Suite("An APNs provider token")
    struct ProviderTokenTests {
        private static let age: Duration = .seconds(45 * 60)
        private static let appleIsAhead = SimulatorScript(
            answerDelay: .milliseconds(50), clockOffset: .seconds(16 * 60))

        @Test("gets replaced with its connection when it expires, and the push is sent again")
        func expired() async throws {
            try await World.within(settings: ["CONNECTIONS_PER_LANE": "1"]) { world in
                let devices = [Device](.live, 1)
                let gateway = try await Self.gateways(1, of: world, devices)[0]
                let first = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
                #expect(first.addsUp && first.terminalCounts == ["accepted": 1])
                await world.production.simulator.follow(Self.appleIsAhead)
                let message = try await gateway.broadcast(.garden)
                let second = try await gateway.finished(message, of: .garden)
                #expect(second.addsUp && second.terminalCounts == ["accepted": 1], "\(second)")

                let pushes = await world.production.simulator.received(devices[0].deviceToken)
                try #require(pushes.map(\.reason) == [nil, "ExpiredProviderToken", nil])
                #expect(pushes.map(\.status) == [200, 403, 200])
                #expect(
                    pushes[0].connection == pushes[1].connection,
                    "the first connection was used until its token was refused")
                #expect(pushes[2].connection != pushes[1].connection)
                #expect(pushes[0].providerToken != nil && pushes[0].providerToken == pushes[1].providerToken)
                #expect(pushes[2].providerToken != pushes[1].providerToken)
                // The push is the same, and its badge was raised once.
                #expect(pushes[1].apnsID == pushes[2].apnsID && pushes[1].body == pushes[2].body)
                #expect(try pushes.map { try $0.badge() } == [1, 2, 2])
                try await eventually("the old connection's end") {
                    await world.production.simulator.summary().connectionsOpen == 1
                }
                let pushHistory = try await gateway.pushHistory(of: devices[0].installation, message, .garden)
                #expect(
                    pushHistory.steps.dropFirst() == [
                        DeviceHistory.Step("goes_on", "provider_token_expired", attempts: 1),
                        DeviceHistory.Step("accepted", attempts: 2),
                    ])
                try await gateway.stopGently()
            }
        }

        @Test("stays in use on a new connection if APNs refuses it while no other may be signed")
        func strayRefusal() async throws {
            try await World.within(settings: ["CONNECTIONS_PER_LANE": "1"]) { world in
                let devices = [Device](.live, 1)
                let gateway = try await world.gateway()
                try await world.fill(.garden, devices, through: gateway)
                let first = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
                #expect(first.terminalCounts == ["accepted": 1])
                let refusal = ScriptedAnswer(status: 403, reason: "ExpiredProviderToken")
                await world.production.simulator.follow(
                    SimulatorScript(faults: [ScriptedFault(.answer(refusal), at: 1, every: 1, times: 1)]))
                let second = try await gateway.finished(try await gateway.broadcast(.garden), of: .garden)
                #expect(second.addsUp && second.terminalCounts == ["accepted": 1], "\(second)")

                let pushes = await world.production.simulator.received(devices[0].deviceToken)
                try #require(pushes.map(\.reason) == [nil, "ExpiredProviderToken", nil])
                #expect(pushes[0].connection == pushes[1].connection && pushes[2].connection != pushes[1].connection)
                #expect(Set(pushes.map(\.providerToken)).count == 1, "no other token is signed")
                let blocks = try await world.database { try await $0.number("SELECT count(*) FROM lane_blocks") }
                #expect(blocks == 0)
                try await gateway.stopGently()
            }
        }

        @Test("stays the same for all processes with its key, and so does the next after it expires")
        func shared() async throws {
            // Each process has one connection, so that the sender of a push is known. Small parcels keep the first gateway
            // busy with leases until the second one begins.
            let settings = ["CONNECTIONS_PER_LANE": "1", "PARCEL_MEMBERS": "10"]
            try await World.within(settings: settings, production: .init(streamLimit: 50)) { world in
                let devices = [Device](.live, 3_000)
                let gateways = try await Self.gateways(2, of: world, devices)
                await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(50)))
                try await Self.broadcast(world, gateways)
                await world.production.simulator.follow(Self.appleIsAhead)
                try await Self.broadcast(world, gateways)

                var pushes: [[ReceivedPush]] = []
                for device in devices {
                    pushes.append(await world.production.simulator.received(device.deviceToken))
                }
                let accepted = pushes.map { $0.filter { $0.reason == nil } }
                #expect(
                    accepted.allSatisfy { $0.count == 2 && $0[0].apnsID != $0[1].apnsID }, "each message arrives once")
                let before = Shown(accepted.compactMap(\.first))
                let after = Shown(accepted.compactMap(\.last))
                #expect(before.tokens.count == 1 && before.connections.count == 2)
                #expect(after.tokens.count == 1 && after.connections.count == 2)
                #expect(after.tokens.isDisjoint(with: before.tokens))
                #expect(after.connections.isDisjoint(with: before.connections))
                let refused = pushes.joined().filter { $0.reason != nil }
                #expect(refused.allSatisfy { $0.reason == "ExpiredProviderToken" })
                #expect(Shown(refused) == before, "both processes used the old token, and only it was refused")
                for gateway in gateways { try await gateway.stopGently() }
            }
        }

        /// The provider tokens and connections of some pushes.
        private struct Shown: Equatable {
            let tokens: Set<String>
            let connections: Set<Int>

            init(_ pushes: [ReceivedPush]) {
                tokens = Set(pushes.map { $0.providerToken ?? "none" })
                connections = Set(pushes.map(\.connection))
            }
        }

        /// Gateways that have used no token yet, and find the old one.
        private static func gateways(_ count: Int, of world: World, _ devices: [Device]) async throws -> [Gateway] {
            let first = try await world.gateway()
            try await world.fill(.garden, devices, through: first)
            try await first.stopGently()
            try await world.keepProviderToken(of: .garden, age: age)
            var gateways: [Gateway] = []
            for _ in 0..<count { gateways.append(try await world.gateway()) }
            return gateways
        }

        /// Sends a broadcast of which both gateways get parcels.
        private static func broadcast(_ world: World, _ gateways: [Gateway]) async throws {
            let message = try await gateways[0].broadcast(.garden)
            try await eventually("both gateways to lease its parcels") {
                try await world.database { pool in
                    try await pool.number("SELECT count(DISTINCT owner) FROM parcels WHERE state = 2") == 2
                }
            }
            let account = try await gateways[1].finished(message, of: .garden)
            #expect(account.addsUp && account.terminalCounts == ["accepted": 3_000], "\(account)")
        }
    }
}
