import Basis
import CommandLine
import Model
import Postgres

/// The least work of writing registrations: COPY, one statement that merges the rows into the tables, and a commit. The
/// tables are this program's own, in a database beside the gateway's, and grow as the gateway's do.
struct ReferenceRegistry {
    private let world: BenchWorld
    private let pool: PostgresPool
    private static let statementTime: Duration = .seconds(3_600)
    /// Rows are made before the clock starts, so that only PostgreSQL is measured. More rows at once would need much
    /// memory.
    private static let rowsAtOnce = 100_000

    static func within<Answer>(
        _ world: BenchWorld, _ body: (ReferenceRegistry) async throws -> Answer
    ) async throws -> Answer {
        try await ReferenceDatabase.within(world) {
            try await world.migrate(database: ReferenceDatabase.name)
            return try await world.withDatabase(
                ReferenceDatabase.name, connectionsMax: 1, statementTime: statementTime
            ) { pool in
                try await pool.script(furniture)
                return try await body(ReferenceRegistry(world: world, pool: pool))
            }
        }
    }

    /// Copies the devices of these numbers, as the import registers them.
    func copy(_ numbers: Range<Int>) async throws -> BenchRun {
        var sum: BenchRun?
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.rowsAtOnce) {
            let rows = Self.rows(start..<min(numbers.upperBound, start + Self.rowsAtOnce))
            let run = try await merge(rows)
            sum = sum.map { $0 + run } ?? run
        }
        guard let sum else { preconditionFailure("a merge has at least one device") }
        return sum
    }

    func rows() async throws -> RegistryDatabase.Rows { try await RegistryDatabase.rows(in: pool) }

    private func merge(_ pieces: [CopyRows]) async throws -> BenchRun {
        let before = try world.used()
        let clock = ContinuousClock()
        let start = clock.now
        let options = TransactionOptions(deadline: Self.statementTime)
        try await pool.transaction(options) { transaction async throws(PostgresError) in
            try await transaction.script(Self.arrivals)
            _ = try await transaction.copyIn(
                "COPY arrivals FROM STDIN (FORMAT binary)"
            ) { writer async throws(PostgresError) in
                for piece in pieces { try await writer.write(piece) }
            }
            try await transaction.script(Self.merge)
        }
        let time = clock.now - start
        return BenchRun(time: time, used: try world.used() - before)
    }

    private static func rows(_ numbers: Range<Int>) -> [CopyRows] {
        var pieces: [CopyRows] = []
        var rows = CopyRows(columns: 8)
        for number in numbers {
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
            pieces.append(rows)
            rows = CopyRows(columns: 8)
        }
        return rows.rowCount > 0 ? pieces + [rows] : pieces
    }

    /// A token as long as an APNs token.
    private static func token(_ number: Int) -> [UInt8] {
        [UInt8](repeating: 0xc0, count: 24) + (0..<8).map { UInt8(truncatingIfNeeded: number >> (56 - 8 * $0)) }
    }

    /// The database's one app and its one route. A trigger adds the sibling route of the other environment.
    private static let furniture = """
        INSERT INTO apps (slug, name) VALUES ('bench', 'Bench');
        INSERT INTO routes (app_id, provider, environment, topic)
        SELECT id, \(Provider.apns.rawValue), \(PushEnvironment.production.rawValue), '\(OwnStandIns.topic)' FROM apps;
        """

    private static let arrivals = """
        CREATE TEMP TABLE arrivals (installation text, token bytea, user_id text, locale text, time_zone text,
            app_version text, tags text, attributes text) ON COMMIT DROP
        """

    /// A trigger writes the tags, as in the gateway's tables.
    private static let merge = """
        WITH merged AS (
            INSERT INTO registrations (app_id, route_id, provider, kind, installation, token, user_id, locale, time_zone,
                app_version, tags, attributes)
            SELECT routes.app_id, routes.id, routes.provider, \(TokenKind.alert.rawValue), said.installation, said.token,
                said.user_id, said.locale, said.time_zone, said.app_version, said.tags::text[], said.attributes::jsonb
            FROM arrivals said JOIN routes ON routes.environment = \(PushEnvironment.production.rawValue)
            ON CONFLICT (app_id, installation, kind) DO UPDATE SET token = excluded.token, user_id = excluded.user_id
            RETURNING id
        )
        INSERT INTO registration_pulse (registration_id, registered_at) SELECT id, now() FROM merged
        ON CONFLICT (registration_id) DO UPDATE SET registered_at = excluded.registered_at
        """
}
