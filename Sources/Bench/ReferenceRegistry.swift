import CommandLine
import Foundation
import Model
import Postgres

/// The least work of writing registrations: COPY from a file, one statement that merges the rows into the tables, and a
/// commit. The tables are this program's own, in a database beside the gateway's, and grow as the gateway's do.
struct ReferenceRegistry {
    private let world: BenchWorld
    private let pool: PostgresPool
    private static let statementTime: Duration = .seconds(3_600)
    /// The file is written before the clock starts, so that only PostgreSQL is measured. More rows at once would make it
    /// large.
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
        // Both this program and PostgreSQL's user can reach the folder of the socket.
        guard let folder = world.gateway.databaseSocketFolder else {
            throw CommandFault(.failed, "the gateway's PostgreSQL has ended")
        }
        let path = folder + "/arrivals"
        defer { try? FileManager.default.removeItem(atPath: path) }
        var runs: [BenchRun] = []
        for start in stride(from: numbers.lowerBound, to: numbers.upperBound, by: Self.rowsAtOnce) {
            try BenchDevice.write(start..<min(numbers.upperBound, start + Self.rowsAtOnce), to: path, Self.row)
            runs.append(try await merge(path))
        }
        return runs.dropFirst().reduce(runs[0]) { $0 + $1 }
    }

    func rows() async throws -> RegistryDatabase.Rows { try await RegistryDatabase.rows(in: pool) }

    private func merge(_ path: String) async throws -> BenchRun {
        let before = try world.used()
        let clock = ContinuousClock()
        let start = clock.now
        // PostgreSQL runs the three as one transaction.
        try await pool.script(
            "\(Self.arrivals); COPY arrivals FROM '\(path)'; \(Self.merge)", deadline: Self.statementTime)
        let time = clock.now - start
        return BenchRun(time: time, used: try world.used() - before)
    }

    /// A line in the text format of COPY. No value has a tab or a backslash.
    private static func row(_ device: BenchDevice) -> String {
        [
            device.installation, #"\\x\#(device.token)"#, device.user, device.locale, device.timeZone,
            device.appVersion, "{\(device.tags.joined(separator: ","))}", device.attributes,
        ].joined(separator: "\t")
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
