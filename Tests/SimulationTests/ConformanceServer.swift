import Glibc
import Postgres
import PushModel
import Reactor
import Store
import Testing

/// The one private PostgreSQL of this test process, migrated. Gone with the process.
enum ConformanceServer {
    private static let starting = Task {
        let folder = try makeFolder()
        removeAtExit(folder)
        var settings = try await PrivateServer(dataFolder: folder).start()
        settings.connectTimeout = .seconds(60)
        try await withPool(settings) { pool in
            // The machine doesn't die here: nobody waits for the disk.
            try await pool.script("ALTER SYSTEM SET fsync = off")
            try await pool.script("SELECT pg_reload_conf()")
            _ = try await Migrator(pool: pool).migrate()
        }
        return settings
    }

    /// A pool of its own on the server's database, closed at the end.
    static func visit(_ body: (PostgresPool) async throws -> Void) async throws {
        try await withPool(try await starting.value, body)
    }

    private static func withPool(
        _ settings: PostgresSettings, _ body: (PostgresPool) async throws -> Void
    ) async throws {
        let loop = try ReactorLoop(name: "conformance")
        // A busy machine is no failure.
        var patient = PoolSettings()
        patient.waitMax = .seconds(60)
        let pool = PostgresPool(settings, pool: patient, loop: loop)
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(pool)) } catch { outcome = .failure(error) }
        await pool.close()
        loop.stop()
        try outcome.get()
    }

    private static func makeFolder() throws -> String {
        var template = Array("/tmp/carillon-conformance-\(getpid())-XXXXXX".utf8CString)
        let made = unsafe mkdtemp(&template)
        try #require(unsafe made != nil)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        // The server may run as another user.
        unsafe chmod(path, 0o755)
        return path
    }

    nonisolated(unsafe) private static var leftAtExit: String?

    private static func removeAtExit(_ folder: String) {
        unsafe leftAtExit = folder
        atexit {
            guard let folder = unsafe ConformanceServer.leftAtExit else { return }
            let lines = ConformanceServer.postmasterLines(folder)
            if let process = lines.first.flatMap({ Int32($0) }) { kill(process, SIGKILL) }
            let socketFolder = lines.count > 4 ? lines[4] : ""
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
