import Postgres
import Simulator
import TestSupport
import Testing

extension Journeys {
    @Suite(
        "A gateway that is cut off from PostgreSQL in the middle of a broadcast",
        .enabled(if: NetworkNamespace.isPossible, Comment(rawValue: NetworkNamespace.whyNot)))
    struct CutDatabaseTests {
        private static let live = [Device](.live, 29_400)
        private static let dead = [Device](.gone, 600)
        private static let settings = [
            "LEASE_SECONDS": "5", "REQUEST_DEADLINE_SECONDS": "3", "CONNECTIONS_PER_LANE": "8",
        ]

        @Test(
            "leaves its pushes to another gateway, settles none twice, and recovers afterwards",
            arguments: Cut.all)
        func cut(_ cut: Cut) async throws {
            try await NetworkNamespace.within { network in
                let far = DatabaseServer.Network(address: network.cable.outside, client: network.cable.inside)
                try await DatabaseServer.within(at: far) { server in
                    let provider = cut.takesTheProvider ? network.cable : network.portCable
                    try await World.within(
                        settings: Self.settings, server: server,
                        production: .init(streamLimit: 50, addresses: [provider.outside])
                    ) { world in try await Self.go(through: cut, network, world) }
                }
            }
        }

        private static func go(through cut: Cut, _ network: NetworkNamespace, _ world: World) async throws {
            let near = try await world.gateway()
            let far = try await world.gateway(in: network)
            try await world.fill(.garden, live + dead, through: near)
            try await world.noteLeases()
            await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(100)))
            let message = try await near.broadcast(.garden)
            try await bothSend(world)
            try await world.production.accepted(atLeast: 3_000)
            try network.cable.cut(cut.how)
            let held = try await world.heldByFar()

            try await expectComplaint(far)
            // Slow answers, so that the other gateway is in the middle when the late settles arrive.
            await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(400)))
            try await eventually("the other gateway to lease the remaining parcels") {
                try await world.leasedByNear(among: held.parcels) > 0
            }
            if cut.outlastsTheSessions {
                try await eventually("PostgreSQL to close the sessions that are cut off") {
                    try await world.farSessions() == 0
                }
            }
            try network.cable.repair(cut.how)
            let account = try await near.finished(message, of: .garden)
            try await expectAll(account, allowing: held.pending, world)
            #expect(far.program.isAlive)
            try await eventually("the gateway to be ready again") { try await far.isReady() }
            await world.production.simulator.follow(SimulatorScript(answerDelay: .milliseconds(100)))

            // Alone, so that all pushes are its own. Requests over the old connections end at their deadline.
            try await near.stopGently()
            let next = try await far.broadcast(.garden)
            #expect(try await far.finished(next, of: .garden).terminalCounts == ["accepted": live.count])
            try await far.stopGently()
            // The count is over both broadcasts: packets that waited in the kernel may arrive late, as repeats.
            let repeated = await world.production.simulator.summary().accepted - 2 * live.count
            #expect(repeated <= held.pending)
            let other = try await world.gateway()
            #expect(try await other.account(message, of: .garden) == account, "no push was settled twice")
            #expect(try await other.feedback(.garden).count == dead.count)
            print("\(cut): \(held.pending) were leased and not settled, \(repeated) repeated")
            try await other.stopGently()
        }

        private static func bothSend(_ world: World) async throws {
            try await eventually("both gateways to lease parcels") {
                try await world.database { pool in
                    try await pool.number("SELECT count(DISTINCT owner) FROM parcels WHERE state = 2") == 2
                }
            }
        }

        /// An operator sees it in the health check and in the log.
        private static func expectComplaint(_ far: Gateway) async throws {
            let reply = try await foundEventually("the gateway to report that it is not ready") {
                let reply = try await far.api.call("GET", "/readyz")
                return reply.status == 200 ? nil : reply
            }
            #expect(reply.status == 503 && reply.text.contains("The database can't be reached."), "\(reply.text)")
            #expect(reply.retryAfter.flatMap { Int($0) } != nil)
            try await far.api.expect(200, "GET", "/healthz")
            try await eventually("the gateway to log that the database is lost") {
                far.program.logged.contains("Database lost: pushes wait and requests get 503")
            }
        }

        private static func expectAll(_ account: Account, allowing repeats: Int, _ world: World) async throws {
            #expect(account.addsUp)
            #expect(account.terminalCounts == ["accepted": live.count, "unregistered": dead.count])
            let receipts = try await world.production.receipts(of: live)
            #expect(receipts.withoutRepeats == .onceEach(live.count))
            #expect(receipts.repeats <= repeats)
        }
    }
}

/// A cut: what it severs, and how.
struct Cut: Sendable, CustomStringConvertible {
    var how = NetworkCable.Break.pulled
    /// Whether the provider is cut off too. Otherwise the gateway keeps sending what it holds, and cannot settle it.
    var takesTheProvider = false
    /// Whether the cut outlasts the sessions. Otherwise data that was sent during the cut arrives after all.
    var outlastsTheSessions = false

    /// The shortest and the longest: a minute each.
    static let all = [Cut(how: .wayInLost), Cut(takesTheProvider: true, outlastsTheSessions: true)]

    var description: String {
        let what = takesTheProvider ? "PostgreSQL and the provider" : "PostgreSQL"
        return "\(what), \(how)" + (outlastsTheSessions ? ", for long" : "")
    }
}

// PostgreSQL knows the gateway at the far end of the cable by its address. The near ones use the socket.
extension World {
    /// Makes the database record leases. Must be called before the first push.
    fileprivate func noteLeases() async throws {
        try await database { pool in
            try await pool.script(
                """
                CREATE TABLE told_leases (parcel bigint, owner uuid, address inet);
                CREATE FUNCTION note_lease() RETURNS trigger LANGUAGE plpgsql AS $$
                BEGIN
                    INSERT INTO told_leases VALUES (NEW.id, NEW.owner, inet_client_addr());
                    RETURN NULL;
                END $$;
                CREATE TRIGGER note_lease AFTER UPDATE ON parcels
                    FOR EACH ROW WHEN (NEW.state = 2 AND NEW.epoch > OLD.epoch) EXECUTE FUNCTION note_lease();
                """)
        }
    }

    /// The most that may be repeated: pushes leased to the gateway that is cut off, whose end is in no row.
    fileprivate func heldByFar() async throws -> (parcels: [Int64], pending: Int) {
        let statement = Statement(
            unprepared: """
                SELECT id, pending FROM parcels WHERE state = 2
                    AND owner IN (SELECT owner FROM told_leases WHERE address IS NOT NULL)
                """)
        return try await database { pool in
            let rows = try await pool.read(Query(statement)).map { row throws(PostgresError) in
                (parcel: try row.int64(), pending: Int(try row.int32()))
            }
            return (rows.map(\.parcel), rows.reduce(0) { $0 + $1.pending })
        }
    }

    fileprivate func leasedByNear(among parcels: [Int64]) async throws -> Int {
        let list = (parcels.map(String.init) + ["0"]).joined(separator: ", ")
        return try await database { pool in
            try await pool.number("SELECT count(*) FROM told_leases WHERE address IS NULL AND parcel IN (\(list))")
        }
    }

    fileprivate func farSessions() async throws -> Int {
        try await database { pool in
            try await pool.number("SELECT count(*) FROM pg_stat_activity WHERE client_addr IS NOT NULL")
        }
    }
}
