import Basis
import Glibc
import Reactor

/// Starts, adopts and stops one private server. It blocks, so it runs on the blocking pool only.
struct ServerStarter: Sendable {
    struct Running: Sendable {
        let dataPath: String
        let process: pid_t
        let socketFolder: String

        /// Whether it runs. Reaps it if it was our child and has ended.
        var isAlive: Bool {
            _ = ChildProcess.reap(process)
            guard let file = PostmasterFile(in: dataPath) else {
                // While this process has no free descriptor, the file is there and can't be read.
                return Files.status(PostmasterFile.path(in: dataPath)) != nil && kill(process, 0) == 0
            }
            return file.process == process && file.isServing(dataPath)
        }

        var hasSocket: Bool { Files.statusOfLink(socketFolder + "/.s.PGSQL.5432") != nil }
    }

    let folder: ServerFolder

    init(dataFolder: String) throws(PrivateServerError) { folder = try ServerFolder(dataFolder: dataFolder) }

    /// Recovery after a crash of the machine replays up to `max_wal_size`.
    private static let startMax: Duration = .seconds(300)
    /// Processes of a killed server notice it within moments and release its shared memory.
    private static let orphansMax: Duration = .seconds(30)
    /// A killed process stays in the kernel's table until all its memory is freed.
    private static let dyingMax: Duration = .seconds(10)
    private static let stopMax: Duration = .seconds(60)
    private static let pollMicroseconds: UInt32 = 20_000

    func start() throws(PrivateServerError) -> Running { try folder.locked(startLocked) }

    private func startLocked() throws(PrivateServerError) -> Running {
        let existing = folder.dataPath
        let account = try ServerAccount.choose(owning: existing)
        if let existing, let running = try adopt(existing) { return running }
        if let existing { try folder.closeToOthers(existing) }
        var version: Int?
        if let existing { version = try folder.version(existing) }
        let programs = try ServerPrograms.find(version: version)
        let dataPath: String
        if let existing { dataPath = existing } else { dataPath = try folder.create(programs, account) }
        return try launch(dataPath, programs, account)
    }

    /// Adopts a server that outlived its gateway, found by its pid file.
    private func adopt(_ dataPath: String) throws(PrivateServerError) -> Running? {
        guard let file = PostmasterFile(in: dataPath), file.isServing(dataPath) else { return nil }
        // A server that was just killed still looks alive for a moment.
        usleep(ServerStarter.pollMicroseconds)
        let limit = Clocks.monotonicNow() + ServerStarter.startMax
        while Clocks.monotonicNow() < limit {
            guard let file = PostmasterFile(in: dataPath), file.isServing(dataPath) else { return nil }
            if file.isReady {
                let running = Running(dataPath: dataPath, process: file.process, socketFolder: file.socketFolder)
                if running.hasSocket { return running }
                // /tmp was cleaned, so the server can't be reached: restart it.
                stopLocked(running)
                return nil
            }
            usleep(ServerStarter.pollMicroseconds)
        }
        throw .startTookTooLong
    }

    private func launch(
        _ dataPath: String, _ programs: ServerPrograms, _ account: ServerAccount
    ) throws(PrivateServerError) -> Running {
        let buffers = ServerConfiguration.sharedBuffersMegabytes()
        try Files.write(
            ServerConfiguration.text(sharedBuffersMegabytes: buffers),
            to: dataPath + "/" + ServerConfiguration.fileName, mode: 0o600, owner: account)
        let socketFolder = try ServerFolder.socketFolder(dataPath, account)
        let command = account.command(
            programs.postgres, ["-D", dataPath, "-c", "unix_socket_directories=\(socketFolder)"])
        let orphansLimit = Clocks.monotonicNow() + ServerStarter.orphansMax
        while true {
            try clearRemains(dataPath, socketFolder, account)
            if let running = try attempt(command, dataPath, socketFolder) { return running }
            let complaint = folder.lastLogLine()
            guard complaint.contains("shared memory block"), Clocks.monotonicNow() < orphansLimit else {
                throw .didNotStart(complaint)
            }
            usleep(ServerStarter.pollMicroseconds * 10)
        }
    }

    /// Removes what a dead server left, which would pass for a running one.
    private func clearRemains(
        _ dataPath: String, _ socketFolder: String, _ account: ServerAccount
    ) throws(PrivateServerError) {
        let limit = Clocks.monotonicNow() + ServerStarter.dyingMax
        while let file = PostmasterFile(in: dataPath), file.blocksStart {
            guard file.isPostgres, Clocks.monotonicNow() < limit else {
                try PostmasterFile.disown(in: dataPath, account)
                break
            }
            usleep(ServerStarter.pollMicroseconds)
        }
        ServerStarter.removeSockets(socketFolder)
    }

    /// Returns nil if the server ended again; its log has the reason.
    private func attempt(
        _ command: [String], _ dataPath: String, _ socketFolder: String
    ) throws(PrivateServerError) -> Running? {
        let log = try folder.openLog()
        let started = ChildProcess.spawn(command, log: log)
        close(log)
        guard let process = started else { throw .didNotStart("\(command[0]) can't be started") }
        let limit = Clocks.monotonicNow() + ServerStarter.startMax
        while Clocks.monotonicNow() < limit {
            if ChildProcess.reap(process) { return nil }
            if let file = PostmasterFile(in: dataPath), file.process == process, file.isReady {
                return Running(dataPath: dataPath, process: process, socketFolder: socketFolder)
            }
            usleep(ServerStarter.pollMicroseconds)
        }
        throw .startTookTooLong
    }

    /// Ends sessions and writes everything, so that the next start needs no recovery.
    func stop(_ running: Running) throws(PrivateServerError) { try folder.locked { stopLocked(running) } }

    private func stopLocked(_ running: Running) {
        for signal in [SIGINT, SIGQUIT] where running.isAlive {
            kill(running.process, signal)
            let limit = Clocks.monotonicNow() + ServerStarter.stopMax
            while running.isAlive && Clocks.monotonicNow() < limit { usleep(ServerStarter.pollMicroseconds) }
        }
        if PostmasterFile(in: running.dataPath)?.isServing(running.dataPath) == true { return }
        // The pid file goes a moment before the process. Without reaping, our child would stay a zombie.
        let limit = Clocks.monotonicNow() + ServerStarter.stopMax
        while !ChildProcess.reap(running.process) && Clocks.monotonicNow() < limit {
            usleep(ServerStarter.pollMicroseconds)
        }
        ServerStarter.removeSockets(running.socketFolder)
        _ = unsafe rmdir(running.socketFolder)
    }

    /// Removes the sockets of this server's own folder. The lock there names a process, as the pid file does.
    private static func removeSockets(_ folder: String) {
        for name in [".s.PGSQL.5432.lock", ".s.PGSQL.5432"] { _ = unsafe unlink(folder + "/" + name) }
    }
}
