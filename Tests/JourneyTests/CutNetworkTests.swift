import Glibc
import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite(
        "A gateway whose network is cut in the middle of a broadcast",
        .enabled(if: NetworkNamespace.isPossible, Comment(rawValue: NetworkNamespace.whyNot)))
    struct CutNetworkTests {
        private static let live = [Device](.live, 29_400)
        private static let dead = [Device](.gone, 600)
        private static let streamLimit = 50
        private static let connectionsMax = 8
        /// Twice the pushes that had a stream when the cable was pulled. A stream whose deadline passes makes room for
        /// another, until its connection has been silent for as long.
        private static let unansweredMax = 2 * streamLimit * connectionsMax
        private static let settings = [
            "LEASE_SECONDS": "5", "REQUEST_DEADLINE_SECONDS": "3", "CONNECTIONS_PER_LANE": "\(connectionsMax)",
        ]

        @Test(
            "leaves its pushes to another gateway, and sends again when the network is back"
        )
        func cut() async throws {
            try await NetworkNamespace.within { network in
                try await World.within(
                    settings: Self.settings,
                    production: .init(streamLimit: UInt32(Self.streamLimit), addresses: [network.cable.outside])
                ) { world in
                    let near = try await world.gateway()
                    let far = try await world.gateway(in: network)
                    try await world.fill(.garden, Self.live + Self.dead, through: near)
                    await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(100)))
                    let message = try await near.broadcast(.garden)
                    try await Self.bothSend(world)
                    try await world.production.accepted(atLeast: 3_000)
                    try network.cable.cut()

                    let account = try await near.finished(message, of: .garden)
                    #expect(account.addsUp)
                    #expect(account.terminalCounts == ["accepted": Self.live.count, "unregistered": Self.dead.count])
                    let receipts = try await world.production.receipts(of: Self.live)
                    #expect(receipts.withoutRepeats == .onceEach(Self.live.count))
                    #expect(receipts.repeats <= Self.unansweredMax)
                    #expect(far.program.isAlive)

                    try await eventually("the gateway to notice that it is cut off") {
                        far.program.logged.contains("its provider can't be reached")
                    }
                    try network.cable.repair()
                    try await eventually("the gateway to be reachable again") {
                        far.program.logged.contains("A lane can send again")
                    }
                    let next = try await near.broadcast(.garden)
                    try await Self.bothSend(world)
                    #expect(try await near.finished(next, of: .garden).terminalCounts == ["accepted": Self.live.count])
                    // The count is over both broadcasts: packets that waited in the kernel may arrive late, as repeats.
                    let all = await world.production.simulator.summary().accepted
                    #expect(all - 2 * Self.live.count <= Self.unansweredMax)
                    print("cut in the middle of a broadcast: \(receipts.repeats) repeated")
                    for gateway in [near, far] { try await gateway.stopGently() }
                }
            }
        }

        @Test("causes no loss if two of three gateways are cut off in turn and the third is killed")
        func three() async throws {
            try await NetworkNamespace.within { one in
                try await NetworkNamespace.within { other in
                    let addresses = [one.cable.outside, other.cable.outside]
                    try await World.within(
                        settings: Self.settings,
                        production: .init(streamLimit: UInt32(Self.streamLimit), addresses: addresses)
                    ) { world in try await Self.cutBoth(one, other, world) }
                }
            }
        }

        private static func cutBoth(_ one: NetworkNamespace, _ other: NetworkNamespace, _ world: World) async throws {
            let near = try await world.gateway()
            let first = try await world.gateway(in: one)
            let second = try await world.gateway(in: other, standInAt: other.cable.outside)
            try await world.fill(.garden, live + dead, through: near)
            await world.production.simulator.follow(SimulatorScript(answerDelay: .seconds(1)))
            let message = try await first.broadcast(.garden)
            try await send(3, world)
            try await world.production.accepted(atLeast: 3_000)
            try one.cable.cut()
            try await alone(first)
            try other.cable.cut(.wayInLost)
            try one.cable.repair()
            try await eventually("the first gateway to be reachable again") {
                first.program.logged.contains("A lane can send again")
            }
            try await alone(second)
            try other.cable.repair(.wayInLost)
            let accepted = await world.production.simulator.summary().accepted
            try await world.production.accepted(atLeast: accepted + 2_000)
            #expect(try await first.account(message, of: .garden).state == "sending", "the message is still being sent")
            let unsettled = try await unsettled(world)
            near.program.kill(SIGKILL)
            #expect(try await near.program.end() == .killed(signal: SIGKILL))

            let account = try await first.finished(message, of: .garden)
            #expect(account.addsUp)
            #expect(account.terminalCounts == ["accepted": live.count, "unregistered": dead.count])
            #expect(try await second.account(message, of: .garden) == account)
            let receipts = try await world.production.receipts(of: live)
            #expect(receipts.withoutRepeats == .onceEach(live.count))
            #expect(receipts.repeats <= 2 * unansweredMax + unsettled + streamLimit * connectionsMax)
            print("two of three cut off, the third killed: \(receipts.repeats) repeated")
            for gateway in [first, second] { try await gateway.stopGently() }
        }

        private static func alone(_ gateway: Gateway) async throws {
            try await eventually("the gateway to notice that it is cut off") {
                gateway.program.logged.contains("its provider can't be reached")
            }
        }

        /// Pushes that the stand-in accepted and no row records, of all gateways together.
        private static func unsettled(_ world: World) async throws -> Int {
            let settled = try await world.database { pool in
                try await pool.number(
                    """
                    SELECT (SELECT sum(accepted) FROM messages)::bigint
                        + coalesce((SELECT sum(accepted) FROM parcels), 0)::bigint
                    """)
            }
            return await world.production.simulator.summary().accepted - settled
        }

        private static func bothSend(_ world: World) async throws { try await send(2, world) }

        private static func send(_ count: Int, _ world: World) async throws {
            try await eventually("\(count) gateways to lease parcels") {
                try await world.database { pool in
                    try await pool.number("SELECT count(DISTINCT owner) FROM parcels WHERE state = 2") == count
                }
            }
        }
    }
}
