import CommandLine
import Postgres
import Reactor

extension BenchWorld {
    /// A measurement's own sessions with the gateway's PostgreSQL, over its Unix socket.
    ///
    /// - Parameters:
    ///   - name: the database; by default the gateway's.
    ///   - connectionsMax: by default as many as the gateway has for its requests.
    ///   - statementTime: the longest time of a statement; nil: the gateway's own limit.
    func withDatabase<Answer>(
        _ name: String = "carillon", connectionsMax: Int? = nil, statementTime: Duration? = nil,
        _ body: (PostgresPool) async throws -> Answer
    ) async throws -> Answer {
        guard let socketFolder = gateway.databaseSocketFolder else {
            throw CommandFault(.failed, "the gateway's PostgreSQL has ended")
        }
        let loop = try ReactorLoop(name: "bench")
        var settings = PostgresSettings(socketFolder: socketFolder, user: "carillon", database: name)
        if let statementTime { settings.statementTimeout = statementTime }
        var size = PoolSettings()
        if let connectionsMax { size.connectionsMax = connectionsMax }
        let pool = PostgresPool(settings, pool: size, loop: loop)
        let outcome: Result<Answer, any Error>
        do { outcome = .success(try await body(pool)) } catch let error as PostgresError {
            let isFull = error.sqlState == Self.diskFull
            outcome = .failure(
                CommandFault(
                    .failed,
                    isFull
                        ? "the disk of the gateway's PostgreSQL is full: make room, or name another --folder"
                        : "the gateway's PostgreSQL can't be asked: \(error)"))
        } catch { outcome = .failure(error) }
        await pool.close()
        loop.stop()
        return try outcome.get()
    }

    private static let diskFull = SQLState("53100")
}

/// A separate database on the gateway's PostgreSQL server for reference measurements. It is dropped after the
/// measurement, so that the gateway's own database holds none of it.
enum ReferenceDatabase {
    static let name = "bench_reference"
    /// CREATE and DROP may wait for a checkpoint, and for gigabytes to be removed.
    private static let timeout: Duration = .seconds(3_600)

    /// Creates an empty database for the body. Drops it at the end, also if the body throws.
    static func within<Answer>(_ world: BenchWorld, _ body: () async throws -> Answer) async throws -> Answer {
        try await world.withDatabase(statementTime: timeout) { pool in
            try await pool.script("CREATE DATABASE \(name)", deadline: timeout)
        }
        let outcome: Result<Answer, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        do { try await drop(of: world) } catch {
            // The body's result, or its error, is worth more than this one.
            Console.remark("The database \(name) stays until the next bench in \(world.folder.path): \(error)")
        }
        return try outcome.get()
    }

    /// Drops the database, also one that a killed measurement left behind. Does nothing if there is none.
    static func drop(of world: BenchWorld) async throws {
        try await world.withDatabase(statementTime: timeout) { pool in
            // FORCE, because the server may not have noticed yet that the sessions' clients are gone.
            try await pool.script("DROP DATABASE IF EXISTS \(name) WITH (FORCE)", deadline: timeout)
        }
    }
}
