import CommandLine
import Foundation
import Postgres
import PrivatePostgres

/// A reference: rows inserted one by one, each with its own commit that waits for the disk, as the gateway's do. No
/// durable service can do with less. The rows lie in a database beside the gateway's, on the same server.
struct ReferenceCommits: Sendable {
    private let pool: PostgresPool

    static func within<Answer>(
        _ world: BenchWorld, _ body: (ReferenceCommits) async throws -> Answer
    ) async throws -> Answer {
        try await ReferenceDatabase.within(world) {
            try await world.withDatabase(ReferenceDatabase.name, connectionsMax: 1) { pool in
                try await pool.script("CREATE TABLE commits (number bigint NOT NULL)")
                return try await body(ReferenceCommits(pool: pool))
            }
        }
    }

    func commit(_ number: Int) async throws {
        _ = try await pool.run(Query(Self.insert) { $0.int64("number", Int64(number)) })
    }

    private static let insert = Statement("bench_commit", "INSERT INTO commits (number) VALUES (:number)")
}

/// PostgreSQL's own benchmark, pgbench: the commits a second that the gateway's server makes of one inserted row each.
struct PgBench: Sendable {
    static let arguments = ["-n", "-c", "8", "-j", "1", "-T", "4"]
    private static let script = "INSERT INTO commits (text) VALUES ('a short text');\n"

    private let program: String
    private let socketFolder: String
    private let scriptFile: String

    /// Runs the body with a table for the rows.
    static func within<Answer>(_ world: BenchWorld, _ body: (PgBench) async throws -> Answer) async throws -> Answer {
        guard let server = world.gateway.databaseProcess, let socketFolder = world.gateway.databaseSocketFolder,
            let executable = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/\(server)/exe")
        else { throw CommandFault(.failed, "the gateway's PostgreSQL has ended") }
        let program = URL(fileURLWithPath: executable).deletingLastPathComponent().path + "/pgbench"
        guard FileManager.default.isExecutableFile(atPath: program) else {
            throw CommandFault(.usage, "the reference is PostgreSQL's pgbench, which is not at \(program)")
        }
        let scriptFile = URL(fileURLWithPath: world.folder.path).path + "/pgbench.sql"
        try Data(script.utf8).write(to: URL(fileURLWithPath: scriptFile))
        return try await ReferenceDatabase.within(world) {
            try await world.withDatabase(ReferenceDatabase.name, connectionsMax: 1) { pool in
                try await pool.script("CREATE TABLE commits (text text NOT NULL)")
            }
            return try await body(PgBench(program: program, socketFolder: socketFolder, scriptFile: scriptFile))
        }
    }

    /// Returns the commits a second. It takes four seconds.
    func run() throws(CommandFault) -> Double {
        let target = ["-f", scriptFile, "-h", socketFolder, "-U", "carillon", ReferenceDatabase.name]
        guard let report = ChildProcess.output([program] + Self.arguments + target), let rate = Self.rate(in: report)
        else { throw CommandFault(.failed, "pgbench has failed") }
        return rate
    }

    /// Reads the rate from pgbench's report; nil: it has none.
    static func rate(in report: String) -> Double? {
        let line = report.split(separator: "\n").first { $0.hasPrefix("tps = ") }
        return line?.dropFirst("tps = ".count).split(separator: " ").first.flatMap { Double($0) }
    }
}
