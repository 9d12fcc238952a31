import Postgres
import PushModel
import Reactor

/// The registry's tables, looked at from beside the gateway.
struct RegistryDatabase: Sendable {
    struct Size: Sendable {
        let name: String
        let bytes: Int64
    }

    private let pool: PostgresPool
    private static let deadline: Duration = .seconds(3_600)

    /// Over the socket of the gateway's own PostgreSQL.
    static func within<Answer>(
        _ world: BenchWorld, _ body: (RegistryDatabase) async throws -> Answer
    ) async throws -> Answer {
        guard let socketFolder = world.gateway.databaseSocketFolder else {
            throw CommandFault(.failed, "the gateway's PostgreSQL has ended")
        }
        let loop = try ReactorLoop(name: "bench")
        var settings = PostgresSettings(socketFolder: socketFolder, user: "carillon", database: "carillon")
        settings.statementTimeout = deadline
        let pool = PostgresPool(settings, loop: loop)
        let outcome: Result<Answer, any Error>
        do { outcome = .success(try await body(RegistryDatabase(pool: pool))) } catch let error as PostgresError {
            outcome = .failure(CommandFault(.failed, "the gateway's PostgreSQL can't be asked: \(error)"))
        } catch { outcome = .failure(error) }
        await pool.close()
        loop.stop()
        return try outcome.get()
    }

    /// Of each table with what it keeps elsewhere, and of each index; the largest first.
    func sizes() async throws -> [Size] {
        let rows = try await pool.read(Query(Self.sizes), deadline: Self.deadline)
        return try (0..<rows.rowCount).map { Size(name: try rows.text($0, 0), bytes: try rows.int64($0, 1)) }
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

    /// Transactions since its start. What a session has counted is seen a second later, so this waits for longer.
    func transactions() async throws -> Int64 {
        try await Task.sleep(for: .seconds(2))
        return try await pool.read(Query(Self.commits)).int64(0, 0)
    }

    private static let commits = Statement(
        unprepared: "SELECT xact_commit FROM pg_stat_database WHERE datname = current_database()")

    /// Messages that have pushes to send or to settle.
    func hasOpenMessages() async throws -> Bool { try await pool.read(Query(Self.open)).bool(0, 0) }

    private static let open = Statement(unprepared: "SELECT EXISTS (SELECT FROM messages WHERE state < 6)")

    /// What nobody who writes these rows can do without: COPY, then one statement for each table that merges them with
    /// what is there. For an app of its own, which is rolled back with them.
    func copyAndRollBack(_ devices: Int) async throws -> Duration {
        let clock = ContinuousClock()
        let start = clock.now
        let options = TransactionOptions(deadline: Self.deadline)
        return try await pool.transaction(options) { transaction async throws(PostgresError) in
            try await transaction.script(Self.prepare)
            _ = try await transaction.copyIn(
                "COPY bench_devices FROM STDIN (FORMAT binary)"
            ) { writer async throws(PostgresError) in
                var rows = CopyRows(columns: 8)
                for number in 1...devices {
                    let device = BenchDevice(number: number)
                    rows.row { cells in
                        cells.text(device.installation)
                        cells.bytes(Self.token(number))
                        cells.text(device.user)
                        cells.text(device.locale)
                        cells.text(device.timeZone)
                        cells.text(device.appVersion)
                        cells.text("{\(device.tags.joined(separator: ","))}")
                        cells.text(device.attributes)
                    }
                    guard rows.isFull else { continue }
                    try await writer.write(rows)
                    rows.removeAll()
                }
                try await writer.write(rows)
            }
            try await transaction.script(Self.merge)
            let took = clock.now - start
            await transaction.abandon()
            return took
        }
    }

    /// As long as APNs', and none that the gateway knows.
    private static func token(_ number: Int) -> [UInt8] {
        [UInt8](repeating: 0xc0, count: 24) + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }

    private static let prepare = """
        CREATE TEMP TABLE bench_devices (installation text, token bytea, user_id text, locale text, time_zone text,
            app_version text, tags text, attributes text) ON COMMIT DROP;
        INSERT INTO apps (slug, name) VALUES ('bench-copy', 'Copy');
        INSERT INTO routes (app_id, provider, environment, topic)
        SELECT id, \(Provider.apns.rawValue), \(PushEnvironment.production.rawValue), '' FROM apps
        WHERE slug = 'bench-copy';
        """

    private static let merge = """
        INSERT INTO registrations (app_id, route_id, provider, kind, installation, token, user_id, locale, time_zone,
            app_version, tags, attributes)
        SELECT routes.app_id, routes.id, routes.provider, \(TokenKind.alert.rawValue), said.installation, said.token,
            said.user_id, said.locale, said.time_zone, said.app_version, said.tags::text[], said.attributes::jsonb
        FROM bench_devices said, routes JOIN apps ON apps.id = routes.app_id
        WHERE apps.slug = 'bench-copy' AND routes.environment = \(PushEnvironment.production.rawValue)
        ON CONFLICT (app_id, installation, kind) DO UPDATE SET token = excluded.token, user_id = excluded.user_id;
        INSERT INTO registration_pulse (registration_id, registered_at)
        SELECT r.id, now() FROM registrations r JOIN apps ON apps.id = r.app_id WHERE apps.slug = 'bench-copy'
        ON CONFLICT (registration_id) DO UPDATE SET registered_at = excluded.registered_at;
        """
}
