import Glibc
import Postgres
import PushModel
import Reactor
import Store
import Testing

/// The one private server of this test process, with a migrated database that every test's own is copied from.
enum StoreServer {
    private static let starting = Task {
        let folder = try makeFolder()
        removeAtExit(folder)
        var settings = try await PrivateServer(dataFolder: folder).start()
        settings.connectTimeout = .seconds(60)
        RunEvidence.secrets([StoreWorld.endOfTokens])
        try await withPool(settings) { pool in
            for setting in operatorsSettings { try await pool.script("ALTER SYSTEM SET \(setting)") }
            try await pool.script("SELECT pg_reload_conf()")
            try await pool.script("CREATE DATABASE carillon_template")
        }
        try await withPool(settings.withDatabase("carillon_template")) { pool in
            _ = try await Migrator(pool: pool).migrate()
        }
        return settings
    }

    /// As much as docs/operations.md allows an operator to log: scripts/test looks for tokens in it. And no waiting for
    /// the disk: the machine doesn't die here.
    private static let operatorsSettings = [
        "fsync = off",
        "log_min_messages = 'warning'", "log_error_verbosity = 'terse'", "log_min_error_statement = 'error'",
        "log_statement = 'all'", "log_parameter_max_length = 0", "log_parameter_max_length_on_error = 0",
    ]

    static func settings() async throws -> PostgresSettings { try await starting.value }

    /// A fresh copy of the migrated database.
    static func makeDatabase(template: String = "carillon_template") async throws -> PostgresSettings {
        let settings = try await settings()
        let name = "store_" + String(Entropy.uint64(), radix: 36)
        try await withPool(settings) { pool in
            // Only one copy at a time: the template may have no other visitor.
            try await copying.run { try await pool.script("CREATE DATABASE \(name) TEMPLATE \(template)") }
        }
        return settings.withDatabase(name)
    }

    private static let copying = Turnstile()

    private static func makeFolder() throws -> String {
        var template = Array("/tmp/carillon-store-\(getpid())-XXXXXX".utf8CString)
        let made = unsafe mkdtemp(&template)
        try #require(unsafe made != nil)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        unsafe chmod(path, 0o755)
        return path
    }

    nonisolated(unsafe) private static var leftAtExit: String?

    private static func removeAtExit(_ folder: String) {
        unsafe leftAtExit = folder
        atexit {
            guard let folder = unsafe StoreServer.leftAtExit else { return }
            let lines = StoreServer.postmasterLines(folder)
            if let process = lines.first.flatMap({ Int32($0) }) { kill(process, SIGKILL) }
            let socketFolder = lines.count > 4 ? lines[4] : ""
            RunEvidence.keep(logsBelow: folder)
            _ = unsafe system("rm -rf '\(folder)' '\(socketFolder)'")
        }
    }

    private static func postmasterLines(_ folder: String) -> [String] {
        guard let file = unsafe fopen(folder + "/postgres/postmaster.pid", "r") else { return [] }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

/// One at a time.
actor Turnstile {
    private var last: Task<Void, any Error>?

    func run(_ work: @escaping @Sendable () async throws -> Void) async throws {
        let before = last
        let mine = Task {
            _ = try? await before?.value
            try await work()
        }
        last = mine
        try await mine.value
    }
}

/// A pool of its own, closed at the end.
func withPool<Answer>(
    _ settings: PostgresSettings, pool poolSettings: PoolSettings = .patient,
    _ body: (PostgresPool) async throws -> Answer
) async throws -> Answer {
    let loop = try ReactorLoop(name: "store-test")
    let pool = PostgresPool(settings, pool: poolSettings, loop: loop)
    let outcome: Result<Answer, any Error>
    do { outcome = .success(try await body(pool)) } catch { outcome = .failure(error) }
    await pool.close()
    loop.stop()
    return try outcome.get()
}

extension PoolSettings {
    /// For tests that are not about waiting: a busy machine is no failure.
    static var patient: PoolSettings {
        var settings = PoolSettings()
        settings.waitMax = .seconds(60)
        return settings
    }
}

func query(_ sql: String, _ build: (inout Parameters) -> Void = { _ in }) -> Query {
    Query(Statement(unprepared: sql), build)
}
