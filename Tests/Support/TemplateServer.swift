import Glibc
import Postgres
import PrivatePostgres
import Reactor

/// The private PostgreSQL that the tests of a process share. It ends with the process. Each test gets a copy of its
/// template.
package struct TemplateServer: Sendable {
    package let settings: PostgresSettings
    package let folder: String
    /// Copying a template is bound by the processor, not by the disk: two at a time are as fast as many.
    private let copying = Turnstile(places: 2)
    private static let template = "carillon_template"

    /// The setting that skips waiting for the disk: processes die in tests, the machine doesn't.
    package static let fast = ["fsync = off"]
    /// The most that docs/operations.md allows an operator to log. scripts/test searches this log for secrets.
    package static let logsLikeOperators = [
        "log_min_messages = 'warning'", "log_error_verbosity = 'terse'", "log_min_error_statement = 'error'",
        "log_statement = 'all'", "log_parameter_max_length = 0", "log_parameter_max_length_on_error = 0",
    ]

    /// Starts a server and makes its template.
    ///
    /// - Parameter evidence: the file of the suite that keeps the server's log (`RunEvidence`); nil: the log is not
    ///   kept.
    package static func start(
        evidence: String? = #fileID, template prepare: (PostgresPool) async throws -> Void
    ) async throws -> TemplateServer {
        let folder = try ServerFolder.make()
        ServerFolder.removeAtExit(folder, evidence: evidence)
        var settings = try await PrivateServer(dataFolder: folder).start()
        settings.connectTimeout = .seconds(60)
        // A test that holds a lock may wait for long on a busy machine.
        settings.idleInTransactionTimeout = .seconds(600)
        let server = TemplateServer(settings: settings, folder: folder)
        try await withPool(settings) { pool in
            for setting in fast + (evidence == nil ? [] : logsLikeOperators) {
                try await pool.script("ALTER SYSTEM SET \(setting)")
            }
            try await pool.script("SELECT pg_reload_conf()")
            try await pool.script("CREATE DATABASE \(template)")
        }
        try await withPool(settings.withDatabase(template), prepare)
        return server
    }

    /// A fresh copy of the template, or of another database.
    package func makeDatabase(from template: String? = nil) async throws -> PostgresSettings {
        let name = "test_" + String(Entropy.uint64(), radix: 36)
        try await copying.pass {
            try await withPool(settings) { pool in
                try await pool.script("CREATE DATABASE \(name) TEMPLATE \(template ?? Self.template)")
            }
        }
        return settings.withDatabase(name)
    }
}

/// Opens a pool on a database for the body, and closes it at the end.
package func withPool<Answer>(
    _ settings: PostgresSettings, pool poolSettings: PoolSettings = .patient,
    _ body: (PostgresPool) async throws -> Answer
) async throws -> Answer {
    let loop = try ReactorLoop(name: "test")
    let pool = PostgresPool(settings, pool: poolSettings, loop: loop)
    let outcome: Result<Answer, any Error>
    do { outcome = .success(try await body(pool)) } catch { outcome = .failure(error) }
    await pool.close()
    loop.stop()
    return try outcome.get()
}

extension PoolSettings {
    /// Settings for tests that are not about waiting: a busy machine is no failure.
    package static var patient: PoolSettings {
        var settings = PoolSettings()
        settings.waitMax = .seconds(60)
        return settings
    }
}
