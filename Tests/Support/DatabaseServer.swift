import Foundation
import Postgres
import PrivatePostgres
import Reactor
import Testing

/// The PostgreSQL of a suite whose tests start programs. The programs reach it over its socket, each world in a
/// database of its own.
package final class DatabaseServer: Sendable {
    /// The server of the running suite (`onDatabaseServer`).
    @TaskLocal package static var shared: DatabaseServer?

    /// The address where the server listens besides its socket, and the client that may use it.
    package struct Network: Sendable {
        let address: String
        let client: String

        package init(address: String, client: String) {
            self.address = address
            self.client = client
        }
    }

    package let folder: URL
    private let server: PrivateServer
    private let settings: PostgresSettings
    private let socketFolder: String
    private let loop: ReactorLoop
    private let administration: PostgresPool
    private let network: Network?
    private let evidence: String

    /// Programs die in these tests, the machine doesn't: waiting for the disk would prove nothing, and take minutes.
    private static let configuration =
        TemplateServer.fast + TemplateServer.logsLikeOperators
        // A gateway has at most 17 connections, and each of several worlds runs several gateways.
        + ["max_connections = 400"]

    private init(folder: URL, _ network: Network?, _ evidence: String) async throws {
        self.folder = folder
        self.network = network
        self.evidence = evidence
        let dataFolder = folder.path(percentEncoded: false)
        loop = try ReactorLoop(name: "database-server")
        server = PrivateServer(dataFolder: dataFolder)
        settings = try await Self.start(server, in: folder, network, loop)
        guard let file = PostmasterFile(in: dataFolder) else { throw CocoaError(.fileReadNoSuchFile) }
        socketFolder = file.socketFolder
        administration = PostgresPool(settings, pool: .patient, loop: loop)
    }

    /// A role that has to give a password, unlike the others.
    package static let guardedRole = "gardener"

    private static func start(
        _ server: PrivateServer, in folder: URL, _ network: Network?, _ loop: ReactorLoop
    ) async throws -> PostgresSettings {
        try await server.start().pooled(on: loop) { pool in
            for setting in configuration { try await pool.script("ALTER SYSTEM SET \(setting)") }
            try await pool.script("CREATE ROLE \(guardedRole) LOGIN PASSWORD 'password-of-a-test'")
            if let network { try await pool.script("ALTER SYSTEM SET listen_addresses = '\(network.address)'") }
        }
        await server.stop()
        let rules = try FileHandle(forUpdating: folder.appending(path: "postgres/pg_hba.conf"))
        let others = try rules.readToEnd() ?? Data()
        try rules.seek(toOffset: 0)
        // The first rule that fits decides.
        try rules.write(contentsOf: Data("local all \(guardedRole) scram-sha-256\n".utf8) + others)
        if let network { try rules.write(contentsOf: Data("host all all \(network.client)/32 trust\n".utf8)) }
        try rules.close()
        return try await server.start()
    }

    /// - Parameter evidence: the file of the suite that keeps the server's log (`RunEvidence`).
    package static func within(
        at network: Network? = nil, evidence: String = #fileID, _ body: (DatabaseServer) async throws -> Void
    ) async throws {
        try await TestFolder.within { folder in
            let server = try await DatabaseServer(folder: folder, network, evidence)
            let outcome: Result<Void, any Error>
            do { outcome = .success(try await body(server)) } catch { outcome = .failure(error) }
            server.checkLog()
            await server.administration.close()
            await server.server.stop()
            server.loop.stop()
            RunEvidence.keep(logsBelow: folder.path(percentEncoded: false), fileID: evidence)
            try outcome.get()
        }
    }

    package func makeDatabase(_ name: String) async throws {
        try await administration.script("CREATE DATABASE \(name)")
    }

    /// Makes a database for the body, in a folder that belongs to the server's user.
    package func withDatabase(_ name: String, in folder: URL, _ body: () async throws -> Void) async throws {
        let path = folder.path(percentEncoded: false)
        try await administration.script("CREATE TABLESPACE \(name) LOCATION '\(path)'")
        try await administration.script("CREATE DATABASE \(name) TABLESPACE \(name)")
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        try? await administration.script("DROP DATABASE \(name) WITH (FORCE)")
        try? await administration.script("DROP TABLESPACE \(name)")
        try outcome.get()
    }

    /// Changes a setting of the running server.
    package func alterSystem(_ change: String) async throws {
        try await administration.script("ALTER SYSTEM \(change)")
        try await administration.script("SELECT pg_reload_conf()")
    }

    /// The user that the server runs as.
    package func userID() throws -> Int {
        let place = folder.appending(path: "postgres").path(percentEncoded: false)
        let owner = try FileManager.default.attributesOfItem(atPath: place)[.ownerAccountID] as? NSNumber
        return try #require(owner).intValue
    }

    /// The database's URL over the socket, as a gateway's settings give it.
    package func url(_ database: String, user: String = "carillon") -> String {
        let host = socketFolder.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? socketFolder
        return "postgresql://\(user)@/\(database)?host=\(host)"
    }

    /// The same for the client in the other network.
    package func farURL(_ database: String) -> String {
        network.map { "postgresql://carillon@\($0.address)/\(database)" } ?? url(database)
    }

    package func pool(_ database: String) -> PostgresPool {
        PostgresPool(settings.withDatabase(database), loop: loop)
    }

    package func within<Answer>(
        _ database: String, _ body: (PostgresPool) async throws -> Answer
    ) async throws -> Answer {
        try await settings.withDatabase(database).pooled(on: loop, body)
    }

    /// Ends the server with SIGKILL, as the kernel does when memory runs out.
    package func kill() async throws {
        let process = try #require(await server.processID)
        _ = Glibc.kill(process, SIGKILL)
        try await eventually("the server's end") { Glibc.kill(process, 0) != 0 || Self.isZombie(process) }
    }

    package func startAgain() async throws {
        // A start truncates the log.
        checkLog()
        RunEvidence.keep(logsBelow: folder.path(percentEncoded: false), fileID: evidence)
        _ = try await server.start()
    }

    /// P9: PostgreSQL's log has whole statements but no secrets. Tokens in these tests contain long rows of zeros.
    private func checkLog() {
        let log = folder.appending(path: "postgres.log")
        let text = (try? String(contentsOf: log, encoding: .utf8)) ?? ""
        #expect(text.contains("LOG:"), "the server's log was found")
        let reported = ["0000000000000000", "Twelve o'clock", "PRIVATE KEY", "admin-key-of-a-test"].filter {
            text.contains($0)
        }
        #expect(reported == [], "PostgreSQL's log contains no secrets")
    }

    private static func isZombie(_ process: Int32) -> Bool {
        let stat = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ""
        return stat.split(separator: ")").last?.split(separator: " ").first == "Z"
    }
}

extension PostgresSettings {
    /// Opens a pool for the body and closes it. Statements may take minutes, because they fill tables.
    package func pooled<Answer>(
        on loop: ReactorLoop, _ body: (PostgresPool) async throws -> Answer
    ) async throws -> Answer {
        var patient = self
        patient.statementTimeout = .seconds(600)
        let pool = PostgresPool(patient, pool: .patient, loop: loop)
        let outcome: Result<Answer, any Error>
        do { outcome = .success(try await body(pool)) } catch { outcome = .failure(error) }
        await pool.close()
        return try outcome.get()
    }
}

extension PostgresPool {
    /// Reads the one number that the query returns.
    package func number(_ sql: String) async throws(PostgresError) -> Int {
        Int(try await read(Query(Statement(unprepared: sql))).one(Int64.init))
    }
}

package enum TestFolder {
    /// Makes a folder for the body: readable by the server's user, and with a short path, because sockets lie in it.
    package static func within(_ body: (URL) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "t\(UUID().uuidString.prefix(6))")
        try FileManager.default.createDirectory(
            at: folder, withIntermediateDirectories: true, attributes: [.posixPermissions: 0o755])
        let outcome: Result<Void, any Error>
        do { outcome = .success(try await body(folder)) } catch { outcome = .failure(error) }
        try? FileManager.default.removeItem(at: folder)
        try outcome.get()
    }
}

/// A suite whose tests share a server, which starts before the first of them and ends after the last.
package struct OnDatabaseServer: SuiteTrait, TestScoping {
    let evidence: String

    package var isRecursive: Bool { false }

    package func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await DatabaseServer.within(evidence: evidence) { server in
            try await DatabaseServer.$shared.withValue(server) { try await function() }
        }
    }
}

extension Trait where Self == OnDatabaseServer {
    /// - Parameter evidence: the file of the suite that keeps the server's log (`RunEvidence`).
    package static func onDatabaseServer(evidence: String = #fileID) -> OnDatabaseServer {
        OnDatabaseServer(evidence: evidence)
    }
}
