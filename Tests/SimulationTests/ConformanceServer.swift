import Postgres
import Store
import TestSupport

/// The one private PostgreSQL of this test process, migrated. Gone with the process.
enum ConformanceServer {
    private static let starting = Task {
        try await TemplateServer.start(evidence: nil) { pool in _ = try await Migrator(pool: pool).migrate() }
    }

    /// A pool of its own on a database of its own, closed at the end.
    static func visit(_ body: (PostgresPool) async throws -> Void) async throws {
        try await withPool(try await starting.value.makeDatabase(), body)
    }
}
