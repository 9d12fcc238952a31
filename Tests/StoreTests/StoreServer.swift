import Postgres
import Store
import TestSupport

/// The private server of this test process, with a migrated database that is copied for each test.
enum StoreServer {
    private static let starting = Task {
        RunEvidence.secrets([StoreWorld.endOfTokens])
        return try await TemplateServer.start { pool in _ = try await Migrator(pool: pool).migrate() }
    }

    /// Creates a copy of the migrated database, or of the given template.
    static func makeDatabase(template: String? = nil) async throws -> PostgresSettings {
        try await starting.value.makeDatabase(from: template)
    }
}

func query(_ sql: String, _ build: (inout Parameters) -> Void = { _ in }) -> Query {
    Query(Statement(unprepared: sql), build)
}
