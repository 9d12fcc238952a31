import Glibc
import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite("Three gateways on one database during a broadcast in which everything dies")
    struct EverythingDiesTests {
        private static let live = [Device](.live, 58_800)
        private static let dead = [Device](.gone, 1_200)
        private static let streamLimit = 50
        private static let connectionsMax = 8
        /// A lease outlasts PostgreSQL's restart, so that no gateway takes over the pushes of a live one.
        private static let settings = [
            "LEASE_SECONDS": "15", "REQUEST_DEADLINE_SECONDS": "5", "CONNECTIONS_PER_LANE": "\(connectionsMax)",
        ]
        /// The progress of the broadcast between two deaths.
        private static let step = 7_000

        @Test("reach each device although gateways, PostgreSQL and the provider die in turn")
        func everything() async throws {
            try await DatabaseServer.within { server in
                try await World.within(
                    settings: Self.settings, server: server,
                    production: .init(streamLimit: UInt32(Self.streamLimit), keepsItsPort: true)
                ) { world in
                    var gateways: [Gateway] = []
                    for _ in 0..<3 { gateways.append(try await world.gateway()) }
                    try await world.fill(.garden, Self.live + Self.dead, through: gateways[0])
                    await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(100)))
                    let message = try await gateways[2].broadcast(.garden)

                    var allowed = 0
                    try await world.production.accepted(atLeast: Self.step)
                    allowed += try await Self.kill(gateways[0], world)

                    try await world.production.accepted(atLeast: 2 * Self.step)
                    try await server.kill()
                    try await server.startAgain()

                    try await world.production.accepted(atLeast: 3 * Self.step)
                    await world.production.die()
                    // Each process that lives may have had all its streams open.
                    allowed += 2 * Self.streamLimit * Self.connectionsMax
                    try await eventually("the other gateways to notice that the provider is unreachable") {
                        gateways[1...].allSatisfy { $0.program.logged.contains("its provider can't be reached") }
                    }
                    _ = try await world.production.simulator.start()

                    try await world.production.accepted(atLeast: 4 * Self.step)
                    allowed += try await Self.kill(gateways[1], world)
                    let another = try await world.gateway()

                    let account = try await another.finished(message, of: .garden)
                    #expect(account.addsUp)
                    #expect(account.terminalCounts == ["accepted": Self.live.count, "unregistered": Self.dead.count])
                    #expect(try await gateways[2].account(message, of: .garden) == account)
                    let receipts = try await world.production.receipts(of: Self.live)
                    #expect(receipts.withoutRepeats == .onceEach(Self.live.count))
                    #expect(receipts.repeats <= allowed)
                    print("four deaths: \(receipts.repeats) repeated, \(allowed) allowed")
                    for gateway in [gateways[2], another] { try await gateway.stopGently() }
                }
            }
        }

        /// Kills a gateway as the kernel does when it runs out of memory.
        ///
        /// - Returns: the most pushes that may be repeated: those that the stand-in accepted and no row records, the
        ///   other gateways' included, and those in flight without an answer.
        private static func kill(_ gateway: Gateway, _ world: World) async throws -> Int {
            gateway.program.kill(SIGKILL)
            #expect(try await gateway.program.end() == .killed(signal: SIGKILL))
            let settled = try await world.database { pool in
                try await pool.number(
                    """
                    SELECT (SELECT sum(accepted) FROM messages)::bigint
                        + coalesce((SELECT sum(accepted) FROM parcels), 0)::bigint
                    """)
            }
            return await world.production.simulator.summary().accepted - settled + streamLimit * connectionsMax
        }
    }
}
