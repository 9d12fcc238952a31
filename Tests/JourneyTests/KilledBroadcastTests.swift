import Basis
import Glibc
import Reactor
import Simulator
import TestSupport
import Testing

extension JourneysAlone {
    @Suite("A gateway that is killed in the middle of a broadcast to 100,000 devices")
    struct KilledBroadcastTests {
        private static let live = [Device](.live, 98_000)
        private static let dead = [Device](.gone, 2_000)
        /// The stand-in's limit, so that the broadcast lasts long enough to have a middle.
        private static let streamLimit = 100
        private static let connectionsMax = 8
        /// The greatest age of an unsettled answer: parcels settle every second (P4), and a settle in flight may take
        /// another second on a busy machine.
        private static let unsettledAgeMax: Duration = .seconds(2)

        @Test("continues after its restart: it misses no device, and repeats only unsettled pushes")
        func killed() async throws {
            let settings = [
                "LEASE_SECONDS": "3", "REQUEST_DEADLINE_SECONDS": "2",
                "CONNECTIONS_PER_LANE": "\(Self.connectionsMax)",
            ]
            try await World.within(
                settings: settings, server: nil, production: .init(streamLimit: UInt32(Self.streamLimit))
            ) { world in
                let first = try await world.gateway()
                try await world.fill(.garden, Self.live + Self.dead, through: first)
                await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(80)))
                let message = try await first.broadcast(.garden)
                try await world.production.accepted(atLeast: 30_000)
                first.program.kill(SIGKILL)
                #expect(try await first.program.end() == .killed(signal: SIGKILL))
                let death = Clocks.wallNow()
                let unsettled = try await Self.unsettled(world)

                let second = try await world.gateway()
                let account = try await second.finished(message, of: .garden)

                #expect(account.addsUp)
                #expect(account.terminalCounts == ["accepted": Self.live.count, "unregistered": Self.dead.count])
                let receipts = try await world.production.receipts(of: Self.live)
                #expect(receipts.withoutRepeats == .onceEach(Self.live.count))
                #expect(receipts.repeats <= unsettled)
                let arrivals = await world.production.simulator.arrivals(of: Self.live)
                let recent = arrivals.count { $0 <= death && death - $0 <= Self.unsettledAgeMax }
                let allowed = Self.streamLimit * Self.connectionsMax + recent
                #expect(receipts.repeats <= allowed)
                print(
                    "killed at \(arrivals.count { $0 <= death }): \(unsettled) were not settled, ",
                    "\(receipts.repeats) repeated, \(allowed) allowed (\(recent) in the last two seconds)",
                    separator: "")
                try await second.stopGently()
            }
        }

        /// Pushes that the stand-in accepted and no row records. The stand-in has received the last of them.
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
    }
}
