import Postgres
import Store
import TestSupport

/// The one private server of this test process, with a migrated database that every test's own is copied from.
enum StoreServer {
    private static let starting = Task {
        RunEvidence.secrets([StoreWorld.endOfTokens])
        return try await TemplateServer.start { pool in _ = try await Migrator(pool: pool).migrate() }
    }

    /// A fresh copy of the migrated database, or of another.
    static func makeDatabase(template: String? = nil) async throws -> PostgresSettings {
        try await starting.value.makeDatabase(from: template)
    }
}

func query(_ sql: String, _ build: (inout Parameters) -> Void = { _ in }) -> Query {
    Query(Statement(unprepared: sql), build)
}
