import Glibc
import Postgres
import PrivatePostgres
import Reactor
import TestSupport
import Testing

/// The one private server that most tests share: started by the first test, gone with the process.
enum SharedServer {
    private static let starting = Task {
        try await BlockingPool.shared.run { ServerFolder.sweep() }
        let folder = try ServerFolder.make()
        ServerFolder.removeAtExit(folder)
        var settings = try await PrivateServer(dataFolder: folder).start()
        settings.connectTimeout = .seconds(60)
        return settings
    }

    static func settings() async throws -> PostgresSettings { try await starting.value }

    /// The folder of a server that was created and stopped. Copying it takes a twentieth of initdb's time.
    private static let template = Task {
        let folder = try ServerFolder.make()
        ServerFolder.removeAtExit(folder)
        let server = PrivateServer(dataFolder: folder)
        _ = try await server.start()
        await server.stop()
        return folder
    }

    static func copyTemplate(to folder: String) async throws {
        let template = try await template.value
        let status = try await BlockingPool.shared.run {
            unsafe system("cp -a '\(template)/postgres' '\(folder)/postgres'")
        }
        try #require(status == 0)
    }
}

/// Settings for tests that are not about waiting: a busy machine is no failure.
func patient(_ connectionsMax: Int = 8) -> PoolSettings {
    var settings = PoolSettings()
    settings.connectionsMax = connectionsMax
    settings.waitMax = .seconds(60)
    return settings
}

/// Runs the body with a loop and a pool of its own, and closes both at the end.
func withPool(
    _ settings: PostgresSettings? = nil, pool: PoolSettings = patient(),
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

/// A server of the test's own, which the test may kill and restart.
func withOwnServer(_ body: (PrivateServer, PostgresSettings, String) async throws -> Void) async throws {
    let folder = try ServerFolder.make()
    let server = PrivateServer(dataFolder: folder)
    let outcome: Result<Void, any Error>
    do {
        try await SharedServer.copyTemplate(to: folder)
        try await body(server, try await server.start(), folder)
        outcome = .success(())
    } catch {
        outcome = .failure(error)
    }
    await server.stop()
    try await BlockingPool.shared.run { ServerFolder.destroy(folder) }
    try outcome.get()
}

/// A name that no other test uses.
func uniqueName(_ stem: String) -> String { stem + "_" + String(Entropy.uint64(), radix: 36) }

func query(_ sql: String, _ build: (inout Parameters) -> Void = { _ in }) -> Query {
    Query(Statement(unprepared: sql), build)
}

/// The error with which the work ends.
func failure<Answer>(_ work: () async throws(PostgresError) -> Answer) async -> PostgresError? {
    do throws(PostgresError) {
        _ = try await work()
        return nil
    } catch { return error }
}

/// Kills the postmaster as the kernel's out-of-memory killer would; its backends exit by themselves. Returns once it is
/// dead: an earlier start would find the server running and adopt it.
func killPostmaster(_ server: PrivateServer) async throws {
    let process = try #require(await server.processID)
    kill(process, SIGKILL)
    try await eventually("the server to be dead") {
        var state = unsafe siginfo_t()
        let found = unsafe waitid(P_PID, id_t(process), &state, WEXITED | WNOWAIT | WNOHANG)
        return unsafe found == 0 && state._sifields._sigchld.si_pid == process
    }
}

extension PostgresPool {
    func count(_ table: String) async throws -> Int64 {
        try await read(query("SELECT count(*) FROM \(table)")).one(Int64.init)
    }
}
