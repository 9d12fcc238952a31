import Foundation
import Postgres
import Reactor
import Testing

/// A PostgreSQL of the tests, reached over its socket, each world in a database of its own.
final class DatabaseServer: Sendable {
    @TaskLocal static var shared: DatabaseServer?

    private let server: PrivateServer
    private let settings: PostgresSettings
    private let socketFolder: String
    private let loop: ReactorLoop
    private let administration: PostgresPool
    private let log: URL
    private let cable: NetworkCable?

    /// As much as docs/operations.md allows an operator to log.
    private static let operatorsSettings = [
        "log_min_messages = 'warning'", "log_error_verbosity = 'terse'", "log_min_error_statement = 'error'",
        "log_statement = 'all'", "log_parameter_max_length = 0", "log_parameter_max_length_on_error = 0",
    ]

    private init(folder: URL, _ cable: NetworkCable?) async throws {
        loop = try ReactorLoop(name: "journeys")
        server = PrivateServer(dataFolder: folder.path(percentEncoded: false))
        settings = try await Self.start(server, in: folder, cable, loop)
        self.cable = cable
        socketFolder = try PostmasterFile.socketFolder(in: folder)
        administration = PostgresPool(settings, loop: loop)
        log = folder.appending(path: "postgres.log")
        for setting in Self.operatorsSettings { try await administration.script("ALTER SYSTEM SET \(setting)") }
        try await administration.script("SELECT pg_reload_conf()")
    }

    private static func start(
        _ server: PrivateServer, in folder: URL, _ cable: NetworkCable?, _ loop: ReactorLoop
    ) async throws -> PostgresSettings {
        let settings = try await server.start()
        guard let cable else { return settings }
        try await settings.pooled(on: loop) { pool in
            try await pool.script("ALTER SYSTEM SET listen_addresses = '\(cable.outside)'")
        }
        await server.stop()
        let rules = try FileHandle(forWritingTo: folder.appending(path: "postgres/pg_hba.conf"))
        try rules.seekToEnd()
        try rules.write(contentsOf: Data("host all all \(cable.inside)/32 trust\n".utf8))
        try rules.close()
        return try await server.start()
    }

    /// - Parameter cable: at whose outside the server listens besides, for who is inside.
    static func within(
        at cable: NetworkCable? = nil, _ body: (DatabaseServer) async throws -> Void
    ) async throws {
        try await TestFolder.within { folder in
            let server = try await DatabaseServer(folder: folder, cable)
            let outcome: Result<Void, any Error>
            do { outcome = .success(try await body(server)) } catch { outcome = .failure(error) }
            server.checkLog()
            await server.administration.close()
            await server.server.stop()
            server.loop.stop()
            RunEvidence.keep(logsBelow: folder.path(percentEncoded: false))
            try outcome.get()
        }
    }

    func makeDatabase(_ name: String) async throws {
        try await administration.script("CREATE DATABASE \(name)")
    }

    /// As a gateway is told of a database of one's own.
    func url(_ database: String) -> String {
        let host = socketFolder.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? socketFolder
        return "postgresql://carillon@/\(database)?host=\(host)"
    }

    /// The same for who is at the other end of the cable.
    func farURL(_ database: String) -> String {
        cable.map { "postgresql://carillon@\($0.outside)/\(database)" } ?? url(database)
    }

    func within<Answer>(_ database: String, _ body: (PostgresPool) async throws -> Answer) async throws -> Answer {
        try await settings.withDatabase(database).pooled(on: loop, body)
    }

    /// As the kernel does it when memory ends: no word to anybody.
    func kill() async throws {
        let process = try #require(await server.processID)
        _ = Glibc.kill(process, SIGKILL)
        try await eventually("the server's end") { Glibc.kill(process, 0) != 0 || Self.isZombie(process) }
    }

    func startAgain() async throws {
        // A start begins the log anew.
        checkLog()
        RunEvidence.keep(logsBelow: log.deletingLastPathComponent().path(percentEncoded: false))
        _ = try await server.start()
    }

    /// P9: PostgreSQL's log has whole statements, and nobody's secrets: tokens here have long rows of zeros.
    private func checkLog() {
        let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        #expect(text.contains("LOG:"), "the server's log was not found")
        let told = ["0000000000000000", "Twelve o'clock", "PRIVATE KEY", "admin-key-of-a-test"].filter {
            text.contains($0)
        }
        #expect(told == [], "PostgreSQL's log tells nobody's secrets")
    }

    private static func isZombie(_ process: Int32) -> Bool {
        let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        return stat.split(separator: ")").last?.split(separator: " ").first == "Z"
    }
}

/// Reads where a server's socket is, and who it is.
enum PostmasterFile {
    static func socketFolder(in dataFolder: URL) throws -> String { try lines(dataFolder)[4] }

    static func process(in dataFolder: URL) throws -> Int32 { try #require(Int32(try lines(dataFolder)[0])) }

    private static func lines(_ dataFolder: URL) throws -> [String] {
        let file = dataFolder.appending(path: "postgres/postmaster.pid")
        let lines = try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false
        ).map(String.init)
        try #require(lines.count > 4, "the server's file is not whole")
        return lines
    }
}

extension PostgresSettings {
    /// A pool for a while. Statements may take minutes: they fill tables.
    func pooled<Answer>(
        on loop: ReactorLoop, _ body: (PostgresPool) async throws -> Answer
    ) async throws -> Answer {
        var patient = self
        patient.statementTimeout = .seconds(600)
        let pool = PostgresPool(patient, loop: loop)
        let outcome: Result<Answer, any Error>
        do { outcome = .success(try await body(pool)) } catch { outcome = .failure(error) }
        await pool.close()
        return try outcome.get()
    }
}

extension PostgresPool {
    /// The one number that the question asks for.
    func number(_ sql: String) async throws -> Int {
        Int(try await read(Query(Statement(unprepared: sql))).int64(0, 0))
    }
}

enum TestFolder {
    /// Short, since sockets lie in it, and open to the server's user.
    static func within(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "j\(UUID().uuidString.prefix(6))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(folder)) } catch { outcome = .failure(error) }
        try? FileManager.default.removeItem(at: folder)
        try outcome.get()
    }
}

/// A suite whose tests share a server; it stands before the first of them and is gone after the last.
struct OnDatabaseServer: SuiteTrait, TestScoping {
    var isRecursive: Bool { false }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await DatabaseServer.within { server in
            try await DatabaseServer.$shared.withValue(server) { try await function() }
        }
    }
}

extension Trait where Self == OnDatabaseServer {
    static var onDatabaseServer: OnDatabaseServer { OnDatabaseServer() }
}
