import Postgres
import Reactor

/// The PostgreSQL that comes with the gateway: kept in its data folder, reached over a Unix socket, run as an
/// unprivileged user. It outlives us when we are killed, and is adopted by the next start.
package actor PrivateServer {
    private let dataFolder: String
    private var running: ServerStarter.Running?
    private var use: ServerUse?

    /// - Parameter dataFolder: any path; made where it is absent. The server's files lie in its folder `postgres`.
    package init(dataFolder: String) { self.dataFolder = dataFolder }

    /// How to reach the server that runs in a data folder; nil: none does. Starts and adopts nothing.
    package static func running(in dataFolder: String) -> PostgresSettings? {
        guard let whole = try? Files.realPath(dataFolder) else { return nil }
        let folder = whole + "/postgres"
        guard let file = PostmasterFile(in: folder), file.isServing(folder), file.isReady else { return nil }
        return PostgresSettings(socketFolder: file.socketFolder, user: "carillon", database: "carillon")
    }

    /// Throws where there would be no programs to start one with. Starts nothing.
    package static func check(dataFolder: String) throws(PrivateServerError) {
        let madeBy = Files.readText(dataFolder + "/postgres/PG_VERSION").flatMap { Int($0.prefix { $0.isNumber }) }
        _ = try ServerPrograms.find(version: madeBy)
    }

    /// Makes the server's folder once, and starts the server, or adopts one that runs there. May take seconds, and
    /// minutes after a crash of the machine. A second call finds the server running, or starts it again.
    package func start() async throws(PrivateServerError) -> PostgresSettings {
        // Our child, killed by somebody: as a zombie it would pass for a running server.
        if let running { _ = ChildProcess.reap(running.process) }
        let dataFolder = self.dataFolder
        let existing = use
        let (running, use) = try await PrivateServer.blocking { () throws(PrivateServerError) in
            let starter = try ServerStarter(dataFolder: dataFolder)
            guard let existing else {
                let use = try ServerUse(starter.folder.users)
                return (try starter.start(), use)
            }
            return (try starter.start(), existing)
        }
        self.running = running
        self.use = use
        return PostgresSettings(socketFolder: running.socketFolder, user: "carillon", database: "carillon")
    }

    /// Stops the server that `start()` has started or adopted, unless another process uses it; otherwise does nothing.
    package func stop() async {
        guard let running, let use else { return }
        self.running = nil
        self.use = nil
        guard use.isLast() else { return }
        let dataFolder = self.dataFolder
        // Where the lock can't be taken another process is at it: the server is theirs.
        _ = try? await PrivateServer.blocking { () throws(PrivateServerError) in
            try ServerStarter(dataFolder: dataFolder).stop(running)
        }
        // Until here whoever comes waits.
        withExtendedLifetime(use) {}
    }

    /// What happened to a server that is kept running.
    package enum Event: Sendable, Equatable {
        case ended
        /// Told once for each end; it is tried again and again.
        case didNotStart(PrivateServerError)
        case runsAgain
    }

    /// Starts the server again whenever it has died (killed for its memory, say). Returns when stopped or cancelled.
    package func keepRunning(reporting report: @Sendable (Event) -> Void = { _ in }) async {
        var last = Event.runsAgain
        while let running, !Task.isCancelled {
            if !running.isAlive {
                if last == .runsAgain { report(.ended) }
                do {
                    _ = try await start()
                    last = .runsAgain
                    report(last)
                } catch {
                    // What keeps it from starting may pass (a full disk): the next look tries again.
                    if last == .runsAgain { report(.didNotStart(error)) }
                    last = .didNotStart(error)
                }
            }
            try? await Task.sleep(for: PrivateServer.checkInterval)
        }
    }

    /// Shorter than the pool's callers wait.
    private static let checkInterval: Duration = .milliseconds(500)

    /// The postmaster's process id, while it is known to run.
    package var processID: Int32? { running?.process }

    private static func blocking<Answer: Sendable>(
        _ work: @escaping @Sendable () throws(PrivateServerError) -> Answer
    ) async throws(PrivateServerError) -> Answer {
        do {
            return try await BlockingPool.shared.run(work)
        } catch {
            throw error as? PrivateServerError ?? .didNotStart("too much blocking work waits")
        }
    }
}
