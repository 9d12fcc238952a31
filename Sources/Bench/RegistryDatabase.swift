import Model
import Postgres

/// Sessions with the gateway's database, beside the gateway's own.
struct RegistryDatabase: Sendable {
    struct Size: Sendable {
        let name: String
        let bytes: Int64
    }

    private let pool: PostgresPool
    private static let deadline: Duration = .seconds(3_600)

    static func within<Answer>(
        _ world: BenchWorld, _ body: (RegistryDatabase) async throws -> Answer
    ) async throws -> Answer {
        try await world.withDatabase(statementTime: deadline) { pool in try await body(RegistryDatabase(pool: pool)) }
    }

    /// The sizes of each table, with its TOAST and maps, and of each index; the largest first.
    func sizes() async throws -> [Size] {
        try await pool.read(Query(Self.sizes), deadline: Self.deadline).map { row throws(PostgresError) in
            Size(name: try row.text(), bytes: try row.int64())
        }
    }

    private static let sizes = Statement(
        unprepared: """
            WITH registry AS (
                SELECT c.oid, c.relname FROM pg_class c
                WHERE c.oid IN ('registrations'::regclass, 'registration_pulse'::regclass, 'registration_tags'::regclass)
            ), parts AS (
                SELECT relname::text AS name, pg_table_size(oid) AS bytes FROM registry
                UNION ALL
                SELECT i.relname::text, pg_relation_size(i.oid)
                FROM registry JOIN pg_index x ON x.indrelid = registry.oid JOIN pg_class i ON i.oid = x.indexrelid
            )
            SELECT name, bytes FROM parts ORDER BY bytes DESC, name
            """)

    /// The database's transactions since its start. A session reports its count up to a second late, so this waits
    /// longer.
    func transactions() async throws -> Int64 {
        try await Task.sleep(for: .seconds(2))
        return try await pool.read(Query(Self.commits)).one(Int64.init)
    }

    private static let commits = Statement(
        unprepared: "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")

    /// Whether messages have pushes to send or to settle.
    func hasOpenMessages() async throws -> Bool {
        try await pool.read(Query(Self.open)).one(Bool.init)
    }

    private static let open = Statement(
        unprepared: "SELECT EXISTS (SELECT FROM messages WHERE state < \(MessageState.finished.sql))")

    /// The gateways that have pushes of any message out at this moment.
    func senders() async throws -> [String] {
        try await pool.read(Query(Self.owners)).map(String.init)
    }

    private static let owners = Statement(
        "bench_senders", "SELECT DISTINCT owner::text FROM parcels WHERE state = \(ParcelState.leased.sql)")

    /// The numbers of rows in the tables that a registration writes.
    struct Rows: Equatable, Sendable, CustomStringConvertible {
        let registrations: Int64
        let activities: Int64
        let tags: Int64

        var description: String { "\(registrations) registrations, \(activities) badges and \(tags) tags" }
    }

    func rows() async throws -> Rows { try await Self.rows(in: pool) }

    /// Counts in any database that has the gateway's tables.
    static func rows(in pool: PostgresPool) async throws -> Rows {
        try await pool.read(Query(Self.counts), deadline: Self.deadline).one { row throws(PostgresError) in
            Rows(registrations: try row.int64(), activities: try row.int64(), tags: try row.int64())
        }
    }

    private static let counts = Statement(
        unprepared: """
            SELECT (SELECT count(*) FROM registrations), (SELECT count(*) FROM registration_pulse),
                (SELECT count(*) FROM registration_tags)
            """)
}
