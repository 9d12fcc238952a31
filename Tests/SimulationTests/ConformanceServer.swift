import Postgres
import Store
import TestSupport

/// The private PostgreSQL of this test process, migrated. It ends with the process.
enum ConformanceServer {
    private static let starting = Task {
        try await TemplateServer.start(evidence: nil) { pool in _ = try await Migrator(pool: pool).migrate() }
    }

    /// Opens a pool on a new database, and closes it at the end.
    static func visit(_ body: (PostgresPool) async throws -> Void) async throws {
        try await withPool(try await starting.value.makeDatabase(), body)
    }
}
