import CommandLine
import Postgres
import Reactor

extension BenchWorld {
    /// Sessions of a measurement's own with the gateway's PostgreSQL, over its Unix socket, beside the gateway's.
    ///
    /// - Parameters:
    ///   - name: of the database; the gateway's where nothing is said.
    ///   - connectionsMax: as many as the gateway has for its requests where nothing is said.
    ///   - statementTime: what a statement may take; nil: what one of the gateway's may.
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

/// A database on the server of the gateway's, for what a measurement is held against: gone with it, so that nothing of it is
/// in the gateway's.
enum ReferenceDatabase {
    static let name = "bench_reference"
    /// What is made or dropped may wait for a checkpoint, and for gigabytes to be removed.
    private static let timeout: Duration = .seconds(3_600)

    /// Empty at the body's start, and dropped at its end, however that ends.
    static func within<Answer>(_ world: BenchWorld, _ body: () async throws -> Answer) async throws -> Answer {
        try await world.withDatabase(statementTime: timeout) { pool in
            try await pool.script("CREATE DATABASE \(name)", deadline: timeout)
        }
        let outcome: Result<Answer, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        do { try await drop(of: world) } catch {
            // What was measured, or what went wrong first, is worth more.
            Console.remark("The database \(name) stays until the next bench in \(world.folder.path): \(error)")
        }
        return try outcome.get()
    }

    /// Also one that a killed measurement left behind. Nothing happens where there is none.
    static func drop(of world: BenchWorld) async throws {
        try await world.withDatabase(statementTime: timeout) { pool in
            // By force: the server may not have noticed yet that those who worked in it are gone.
            try await pool.script("DROP DATABASE IF EXISTS \(name) WITH (FORCE)", deadline: timeout)
        }
    }
}
