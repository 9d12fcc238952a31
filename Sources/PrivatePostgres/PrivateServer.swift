import Postgres
import Reactor

/// The PostgreSQL server that the gateway runs in its data folder, reached over a Unix socket, as an unprivileged user.
/// It survives if the gateway is killed, and the next start adopts it.
package actor PrivateServer {
    private let dataFolder: String
    private var running: ServerStarter.Running?
    private var use: ServerUse?

    /// - Parameter dataFolder: any path, created if absent. The server's files are in its folder `postgres`.
    package init(dataFolder: String) { self.dataFolder = dataFolder }

    /// Returns how to reach the server that runs in a data folder; nil if none runs. Starts and adopts nothing.
    package static func running(in dataFolder: String) -> PostgresSettings? {
        guard let whole = try? Files.realPath(dataFolder) else { return nil }
        let folder = whole + "/postgres"
        guard let file = PostmasterFile(in: folder), file.isServing(folder), file.isReady else { return nil }
        return PostgresSettings(socketFolder: file.socketFolder, user: "carillon", database: "carillon")
    }

    /// Throws if no suitable server programs are installed. Starts nothing.
    package static func check(dataFolder: String) throws(PrivateServerError) {
        let madeBy = Files.readText(dataFolder + "/postgres/PG_VERSION").flatMap { Int($0.prefix { $0.isNumber }) }
        _ = try ServerPrograms.find(version: madeBy)
    }

    /// Creates the server's folder once, and starts the server, or adopts one that runs there. Takes seconds, or
    /// minutes after a crash of the machine. A second call finds the server running, or restarts it.
    package func start() async throws(PrivateServerError) -> PostgresSettings {
        // Reap our child if it was killed: as a zombie it would pass for a running server.
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
        (self.running, self.use) = (running, use)
        return PostgresSettings(socketFolder: running.socketFolder, user: "carillon", database: "carillon")
    }

    /// Stops the server that `start()` started or adopted, unless another process uses it. Otherwise does nothing.
    package func stop() async {
        guard let running, let use else { return }
        (self.running, self.use) = (nil, nil)
        guard use.isLast() else { return }
        let dataFolder = self.dataFolder
        // If the lock can't be taken, another process is starting or stopping the server and owns it.
        _ = try? await PrivateServer.blocking { () throws(PrivateServerError) in
            try ServerStarter(dataFolder: dataFolder).stop(running)
        }
        // Keep `use` until here: other processes wait until the server has stopped.
        withExtendedLifetime(use) {}
    }

    package enum Event: Sendable, Equatable {
        case ended
        /// Reported once per end, although every further attempt may fail.
        case didNotStart(PrivateServerError)
        case runsAgain
    }

    /// Restarts the server whenever it has died, for lack of memory for example. Ends when stopped or cancelled.
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
                    // The cause may pass (a full disk), so the next check tries again.
                    if last == .runsAgain { report(.didNotStart(error)) }
                    last = .didNotStart(error)
                }
            }
            try? await Task.sleep(for: PrivateServer.checkInterval)
        }
    }

    /// Shorter than the wait of the pool's callers.
    private static let checkInterval: Duration = .milliseconds(500)

    package var processID: Int32? { running?.process }

    /// Whether the server that `start()` started or adopted is alive.
    package var isRunning: Bool { running?.isAlive ?? false }

    private static func blocking<Answer: Sendable>(
        _ work: @escaping @Sendable () throws(PrivateServerError) -> Answer
    ) async throws(PrivateServerError) -> Answer {
        do { return try await BlockingPool.shared.run(work) } catch {
            throw error as? PrivateServerError ?? .didNotStart("too many blocking tasks are waiting")
        }
    }
}
