import Foundation
import Postgres
import Reactor
import Testing

/// One PostgreSQL for the tests of this target, each world in a database of its own.
final class Cluster: Sendable {
    @TaskLocal static var current: Cluster?

    let folder: URL
    let loop: ReactorLoop
    private let server: PrivateServer
    private let settings: PostgresSettings
    private let socketFolder: String
    private let administration: PostgresPool

    private init(folder: URL) async throws {
        self.folder = folder
        loop = try ReactorLoop(name: "thread-tests")
        server = PrivateServer(dataFolder: folder.path(percentEncoded: false))
        settings = try await server.start()
        // Line five of the server's own file: where its socket is.
        let file = folder.appending(path: "postgres/postmaster.pid")
        let lines = try String(contentsOf: file, encoding: .utf8).split(
            separator: "\n", omittingEmptySubsequences: false)
        socketFolder = String(lines[4])
        // A busy machine is no failure.
        var patient = PoolSettings()
        (patient.waitMax, patient.deadline) = (.seconds(60), .seconds(60))
        administration = PostgresPool(settings, pool: patient, loop: loop)
    }

    private func prepare() async throws {
        // Processes die here, the machine doesn't: waiting for the disk would prove nothing, and take minutes.
        for setting in ["fsync = off"] + Self.operatorsSettings {
            try await administration.script("ALTER SYSTEM SET \(setting)")
        }
        try await administration.script("SELECT pg_reload_conf()")
    }

    /// As much as docs/operations.md allows an operator to log: scripts/test looks for secrets in it.
    private static let operatorsSettings = [
        "log_min_messages = 'warning'", "log_error_verbosity = 'terse'", "log_min_error_statement = 'error'",
        "log_statement = 'all'", "log_parameter_max_length = 0", "log_parameter_max_length_on_error = 0",
    ]

    static func within(_ body: (Cluster) async throws -> Void) async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "c\(UUID().uuidString.prefix(6))")
        let cluster = try await Cluster(folder: folder)
        let outcome: Result<Void, any Error>
        do {
            try await cluster.prepare()
            outcome = .success(try await body(cluster))
        } catch { outcome = .failure(error) }
        await cluster.administration.close()
        await cluster.server.stop()
        cluster.loop.stop()
        RunEvidence.keep(logsBelow: folder.path(percentEncoded: false))
        try? FileManager.default.removeItem(at: folder)
        try outcome.get()
    }

    func makeDatabase(_ name: String) async throws {
        try await administration.script("CREATE DATABASE \(name)")
    }

    func pool(_ database: String) -> PostgresPool { PostgresPool(settings.withDatabase(database), loop: loop) }

    /// As a gateway is told of a database of one's own.
    func url(_ database: String) -> String {
        let host = socketFolder.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? socketFolder
        return "postgresql://carillon@/\(database)?host=\(host)"
    }
}

/// A suite whose tests share a cluster; it stands before the first of them and is gone after the last.
struct OnCluster: SuiteTrait, TestScoping {
    var isRecursive: Bool { false }

    func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @Sendable () async throws -> Void
    ) async throws {
        try await Cluster.within { cluster in
            try await Cluster.$current.withValue(cluster) { try await function() }
        }
    }
}

extension Trait where Self == OnCluster {
    static var onCluster: OnCluster { OnCluster() }
}
