import Postgres
import PushModel
import Simulator
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
        /// What had a stream when the cable was pulled; and as much again: a stream whose deadline passes makes room for
        /// another, until its connection has been silent for as long.
        private static let unansweredMax = 2 * streamLimit * connectionsMax
        private static let settings = [
            "LEASE_SECONDS": "12", "REQUEST_DEADLINE_SECONDS": "5", "CONNECTIONS_PER_LANE": "\(connectionsMax)",
        ]

        @Test(
            "keeps nobody waiting: its pushes leave from the other gateway, and it sends again when the network is back"
        )
        func cut() async throws {
            try await NetworkNamespace.within { network in
                try await World.within(
                    settings: Self.settings,
                    production: .init(streamLimit: UInt32(Self.streamLimit), address: network.cable.outside)
                ) { world in
                    let near = try await world.gateway()
                    let far = try await world.gateway(in: network)
                    try await world.furnish(.garden, Self.live + Self.dead, through: near)
                    await world.production.simulator.follow(APNsScript(answerDelay: .milliseconds(100)))
                    let message = try await near.broadcast(.garden)
                    try await Self.bothSend(world)
                    try await world.production.accepted(atLeast: 3_000)
                    try network.cable.cut()

                    let account = try await near.finished(message, of: .garden)
                    #expect(account.addsUp)
                    #expect(account.endings == ["accepted": Self.live.count, "unregistered": Self.dead.count])
                    let receipts = try await world.production.receipts(of: Self.live)
                    #expect(receipts.withoutRepeats == .onceEach(Self.live.count))
                    #expect(receipts.repeats <= Self.unansweredMax)
                    #expect(far.program.isAlive)

                    try await eventually("the gateway to see that it is alone") {
                        far.program.logged.contains("its provider can't be reached")
                    }
                    try network.cable.mend()
                    try await eventually("the gateway to be back") {
                        far.program.logged.contains("A lane can send again")
                    }
                    let next = try await near.broadcast(.garden)
                    try await Self.bothSend(world)
                    #expect(try await near.finished(next, of: .garden).endings == ["accepted": Self.live.count])
                    // Over both: what waited in the kernel for the cable may arrive late, as a repeat of its own.
                    let all = await world.production.simulator.summary().accepted
                    #expect(all - 2 * Self.live.count <= Self.unansweredMax)
                    print("cut in the middle of a broadcast: \(receipts.repeats) repeated")
                    for gateway in [near, far] { try await gateway.stopGently() }
                }
            }
        }

        private static func bothSend(_ world: World) async throws {
            try await eventually("both gateways to own parcels") {
                try await world.database { pool in
                    try await pool.number("SELECT count(DISTINCT owner) FROM parcels WHERE state = 2") == 2
                }
            }
        }
    }
}
