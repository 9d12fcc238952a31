import Glibc
import Postgres
import PushModel
import Reactor
import Testing

/// The one private server that most tests share: started by the first test, gone with the process.
enum SharedServer {
    private static let starting = Task {
        let folder = try TestFolder.make()
        TestFolder.removeAtExit(folder)
        return try await PrivateServer(dataFolder: folder).start()
    }

    static func settings() async throws -> PostgresSettings { try await starting.value }
}

enum TestFolder {
    /// Readable by the server's user; named after this process, so that a later run can tell what is left over.
    static func make() throws -> String {
        var template = Array("/tmp/carillon-test-\(getpid())-XXXXXX".utf8CString)
        let made = unsafe mkdtemp(&template)
        try #require(unsafe made != nil)
        let path = String(decoding: template.dropLast().map { UInt8(bitPattern: $0) }, as: UTF8.self)
        unsafe chmod(path, 0o755)
        return path
    }

    nonisolated(unsafe) private static var leftAtExit: [String] = []

    /// Called before the tests run in earnest, once.
    static func removeAtExit(_ folder: String) {
        unsafe leftAtExit.append(folder)
        atexit { for folder in unsafe TestFolder.leftAtExit { TestFolder.destroy(folder) } }
    }

    /// Kills the server that lives there, and removes everything.
    static func destroy(_ folder: String) {
        let lines = postmasterLines(folder)
        if let process = postmaster(folder) { kill(process, SIGKILL) }
        let socketFolder = lines.count > 4 ? lines[4] : ""
        _ = unsafe system("rm -rf '\(folder)' '\(socketFolder)'")
    }

    static func postmaster(_ folder: String) -> Int32? { postmasterLines(folder).first.flatMap { Int32($0) } }

    private static func postmasterLines(_ folder: String) -> [String] {
        guard let file = unsafe fopen(folder + "/postgres/postmaster.pid", "r") else { return [] }
        defer { unsafe fclose(file) }
        var bytes = [UInt8](repeating: 0, count: 4_096)
        let count = unsafe fread(&bytes, 1, bytes.count, file)
        return String(decoding: bytes[..<count], as: UTF8.self).split(separator: "\n").map(String.init)
    }
}

/// A loop and a pool of its own on it, closed and stopped at the end.
func withPool(
    _ settings: PostgresSettings? = nil, pool: PoolSettings = PoolSettings(),
    _ body: (PostgresPool) async throws -> Void
) async throws {
    let server: PostgresSettings
    if let settings { server = settings } else { server = try await SharedServer.settings() }
    let loop = try ReactorLoop(name: "test")
    let made = PostgresPool(server, pool: pool, loop: loop)
    do {
        try await body(made)
    } catch {
        await made.close()
        loop.stop()
        throw error
    }
    await made.close()
    loop.stop()
}

/// A server of the test's own, to be killed and started again.
func withOwnServer(_ body: (PrivateServer, PostgresSettings, String) async throws -> Void) async throws {
    let folder = try TestFolder.make()
    defer { TestFolder.destroy(folder) }
    let server = PrivateServer(dataFolder: folder)
    let settings = try await server.start()
    do {
        try await body(server, settings, folder)
    } catch {
        await server.stop()
        throw error
    }
    await server.stop()
}

/// A name that no other test uses.
func uniqueName(_ stem: String) -> String { stem + "_" + String(Entropy.uint64(), radix: 36) }

func query(_ sql: String, _ build: (inout Parameters) -> Void = { _ in }) -> Query {
    Query(Statement(unprepared: sql), build)
}

/// The error that the work ends with.
func failure<Answer>(_ work: () async throws(PostgresError) -> Answer) async -> PostgresError? {
    do throws(PostgresError) {
        _ = try await work()
        return nil
    } catch { return error }
}

extension PostgresPool {
    func count(_ table: String) async throws -> Int64 {
        try await read(query("SELECT count(*) FROM \(table)")).int64(0, 0)
    }

    /// Asks until it holds. For what another process does in its own time.
    func waits(until sql: String, most: Duration = .seconds(20)) async throws {
        let limit = Clocks.monotonicNow() + most
        while Clocks.monotonicNow() < limit {
            if try await read(query(sql)).bool(0, 0) { return }
            try await Task.sleep(for: .milliseconds(5))
        }
        Issue.record("never came true: \(sql)")
    }
}
