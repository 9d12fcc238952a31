import Glibc

/// A server's postmaster.pid: its process, its socket's folder, and whether it accepts connections.
/// Source: PostgreSQL 15, pidfile.h.
struct PostmasterFile: Equatable, Sendable {
    let process: pid_t
    let socketFolder: String
    let isReady: Bool

    init?(parsing text: String) {
        let lines = text.split(separator: "\n", omittingEmptySubsequences: false)
        guard let first = lines.first, let process = pid_t(first), process > 0 else { return nil }
        self.process = process
        socketFolder = lines.count > 4 ? String(lines[4]) : ""
        isReady = lines.count > 7 && lines[7].hasPrefix("ready")
    }

    static func path(in folder: String) -> String { folder + "/postmaster.pid" }

    init?(in folder: String) {
        guard let text = Files.readText(PostmasterFile.path(in: folder)) else { return nil }
        self.init(parsing: text)
    }

    /// Whether the process lives and is the server of this folder, not another process that reused its number.
    func isServing(_ folder: String) -> Bool {
        guard isAlive else { return false }
        // A server changes into its folder. In a container, root may not see that: then the command line decides.
        if let current = Files.linkTarget("/proc/\(process)/cwd") { return current == folder }
        guard let command = Files.read("/proc/\(process)/cmdline") else { return false }
        return command.split(separator: 0).contains { $0.elementsEqual(folder.utf8) }
    }

    /// False for a zombie, which only waits for its parent to reap it.
    var isAlive: Bool {
        guard kill(process, 0) == 0 || errno == EPERM else { return false }
        let path = "/proc/\(process)/stat"
        // While this process has no free descriptor, the kernel's file is there and can't be read.
        guard let status = Files.readText(path) else { return Files.status(path) != nil }
        guard let end = status.lastIndex(of: ")") else { return false }
        return !status[end...].dropFirst(2).hasPrefix("Z")
    }

    /// Whether PostgreSQL would take the number for a running server, even if it is a zombie or another program.
    var blocksStart: Bool { !ChildProcess.reap(process) || kill(process, 0) == 0 }

    var isPostgres: Bool { Files.readText("/proc/\(process)/comm")?.hasPrefix("postgres") == true }

    /// Makes a stale file harmless if another program now has its process number. The other lines stay: by them
    /// PostgreSQL finds processes of the old server that still use its shared memory.
    static func disown(in folder: String, _ account: ServerAccount) throws(PrivateServerError) {
        guard let text = Files.readText(path(in: folder)) else { return }
        let remaining = text.split(separator: "\n", omittingEmptySubsequences: false).dropFirst().joined(
            separator: "\n")
        try Files.write("\(unusedNumber)\n" + remaining, to: path(in: folder), mode: 0o600, owner: account)
    }

    /// The number after the kernel's PID_MAX_LIMIT.
    private static let unusedNumber = 4_194_305
}
