import Glibc
import Reactor

struct ServerFolder: Sendable {
    let dataFolder: String

    var entry: String { dataFolder + "/postgres" }
    var log: String { dataFolder + "/postgres.log" }
    private var lock: String { dataFolder + "/postgres.lock" }
    var users: String { dataFolder + "/postgres.users" }

    init(dataFolder: String) throws(PrivateServerError) {
        try Files.makeFolders(dataFolder, mode: 0o711)
        self.dataFolder = try Files.realPath(dataFolder)
    }

    var dataPath: String? {
        guard Files.statusOfLink(entry + "/PG_VERSION") != nil else { return nil }
        return try? Files.realPath(entry)
    }

    func version(_ dataPath: String) throws(PrivateServerError) -> Int {
        let text = Files.readText(dataPath + "/PG_VERSION") ?? ""
        guard let version = Int(text.prefix { $0.isNumber }) else {
            throw .folderUnusable(path: dataPath, reason: "holds no PostgreSQL data")
        }
        return version
    }

    /// Closes the server's folder to others again: PostgreSQL refuses one that its group may write or others may read.
    ///
    /// Kubernetes' `fsGroup` widens modes when it prepares a volume, and some copies do.
    func closeToOthers(_ dataPath: String) throws(PrivateServerError) {
        guard let mode = ServerFolder.widenedMode(dataPath) else { return }
        // Some file systems have fixed modes, and take a change without effect.
        if unsafe chmod(dataPath, 0o700) == 0, ServerFolder.widenedMode(dataPath) == nil { return }
        throw .folderUnusable(
            path: dataPath,
            reason: "has the mode \(String(mode, radix: 8)), which can't be changed to the 700 that PostgreSQL needs: "
                + "choose a data folder on a file system that keeps modes")
    }

    /// The mode of a folder that PostgreSQL refuses; nil: it accepts the folder.
    /// Source: PostgreSQL 15, PG_MODE_MASK_GROUP in file_perm.h.
    private static func widenedMode(_ dataPath: String) -> mode_t? {
        guard let mode = Files.status(dataPath)?.st_mode, mode & 0o027 != 0 else { return nil }
        return mode & 0o7777
    }

    /// Runs `work` while no other process starts or stops the server. A killed owner leaves no lock behind.
    func locked<Answer>(_ work: () throws(PrivateServerError) -> Answer) throws(PrivateServerError) -> Answer {
        let descriptor = try Files.open(lock, O_RDWR | O_CREAT, mode: 0o600)
        defer { close(descriptor) }
        for _ in 0..<ServerFolder.lockAttemptsMax {
            if flock(descriptor, LOCK_EX | LOCK_NB) == 0 { return try work() }
            usleep(ServerFolder.lockPauseMicroseconds)
        }
        throw .folderBusy(path: dataFolder)
    }

    private static let lockPauseMicroseconds: UInt32 = 50_000
    /// Allows for a slow start: five minutes.
    private static let lockAttemptsMax = 6_000
}

// Creation of the server's folder.
extension ServerFolder {
    /// Runs initdb in a draft folder and renames it, so that an interrupted run never looks finished.
    func create(_ programs: ServerPrograms, _ account: ServerAccount) throws(PrivateServerError) -> String {
        let place = try choosePlace(account)
        let draft = place + "/postgres.new"
        try Files.removeTree(draft)
        guard unsafe mkdir(draft, 0o700) == 0 else { throw Files.failure(draft) }
        try account.own(draft)
        let arguments = [
            "--pgdata=\(draft)", "--username=carillon", "--auth=trust", "--encoding=UTF8", "--locale=C",
            "--no-instructions",
        ]
        try run(account.command(programs.initdb, arguments), input: nil)
        try Files.write(ServerConfiguration.hostRules, to: draft + "/pg_hba.conf", mode: 0o600, owner: account)
        try includeOurs(draft, account)
        try createDatabase(draft, programs, account)
        let dataPath = place + "/postgres"
        guard unsafe rename(draft, dataPath) == 0 else { throw Files.failure(dataPath) }
        try Files.syncFolder(place)
        if place != dataFolder {
            _ = unsafe unlink(entry)
            guard unsafe symlink(dataPath, entry) == 0 else { throw Files.failure(entry) }
            try Files.syncFolder(dataFolder)
        }
        return try Files.realPath(dataPath)
    }

    /// Returns the data folder, unless we are root and the server's user can't reach it (as below /root). Then it is a
    /// separate folder below /var/lib, and the data folder links to it.
    private func choosePlace(_ account: ServerAccount) throws(PrivateServerError) -> String {
        if let status = Files.status(dataFolder), geteuid() == 0 {
            // Permit passing through. The contents keep their own modes.
            _ = unsafe chmod(dataFolder, status.st_mode & 0o7777 | 0o011)
        }
        if account.reaches(dataFolder) { return dataFolder }
        let place = "/var/lib/carillon/" + String(Entropy.uint64(), radix: 36)
        try Files.makeFolders(place, mode: 0o711)
        guard account.reaches(place) else {
            throw .folderUnusable(path: dataFolder, reason: "is not accessible to the user that PostgreSQL must run as")
        }
        return place
    }

    private func includeOurs(_ dataPath: String, _ account: ServerAccount) throws(PrivateServerError) {
        let path = dataPath + "/postgresql.conf"
        guard let text = Files.readText(path) else { throw Files.failure(path) }
        let include = "\ninclude_if_exists = '\(ServerConfiguration.fileName)'\n"
        try Files.write(text + include, to: path, mode: 0o600, owner: account)
    }

    /// Runs in single-user mode, before any client can connect.
    private func createDatabase(
        _ dataPath: String, _ programs: ServerPrograms, _ account: ServerAccount
    ) throws(PrivateServerError) {
        let statement = dataPath + "/create-database.sql"
        try Files.write("CREATE DATABASE carillon\n", to: statement, mode: 0o600, owner: account)
        let input = try Files.open(statement, O_RDONLY)
        defer {
            close(input)
            unsafe unlink(statement)
        }
        let arguments = ["--single", "-D", dataPath, "-c", "exit_on_error=true", "postgres"]
        try run(account.command(programs.postgres, arguments), input: input)
    }

    private func run(_ command: [String], input: Int32?) throws(PrivateServerError) {
        let log = try openLog()
        defer { close(log) }
        guard let process = ChildProcess.spawn(command, input: input, log: log) else {
            throw .initdbFailed("can't be started")
        }
        guard ChildProcess.wait(process) == 0 else { throw .initdbFailed(lastLogLine()) }
    }

    /// Truncates the log at each start, so that it describes only this one.
    func openLog() throws(PrivateServerError) -> Int32 {
        try Files.open(log, O_WRONLY | O_CREAT | O_TRUNC | O_APPEND, mode: 0o600)
    }

    /// The last line that reports an error, or else the last line.
    func lastLogLine() -> String {
        let lines = (Files.readText(log) ?? "").split(separator: "\n")
        let complaint = lines.last { line in
            ["FATAL:", "PANIC:", "error:", "fatal:"].contains { name in
                line.split(separator: " ").contains { $0 == name }
            }
        }
        return String((complaint ?? lines.last ?? "no output").prefix(300))
    }
}

// The socket's folder.
extension ServerFolder {
    /// A short path, as a socket's has at most 107 bytes. The same at each start: no old folders remain.
    static func socketFolder(_ dataPath: String, _ account: ServerAccount) throws(PrivateServerError) -> String {
        var hash: UInt64 = 0xcbf2_9ce4_8422_2325
        for byte in dataPath.utf8 { hash = (hash ^ UInt64(byte)) &* 0x100_0000_01b3 }
        let name = "/carillon-\(account.user)-" + String(hash, radix: 36)
        for place in runtimeFolder + ["/tmp", "/var/tmp", "/dev/shm"] {
            // Another user may own the name: try the next name, then the next place.
            for suffix in ["", "-2", "-3"] where isOurs(place + name + suffix, account) { return place + name + suffix }
        }
        throw .folderUnusable(path: "/tmp" + name, reason: "can't be created, or belongs to another user")
    }

    /// The folder that systemd provides: the socket of a service with its own /tmp would be hidden there.
    private static var runtimeFolder: [String] {
        guard let list = unsafe getenv("RUNTIME_DIRECTORY") else { return [] }
        let first = unsafe String(cString: list).split(separator: ":").first.map(String.init) ?? ""
        return first.hasPrefix("/") && first.utf8.count <= runtimeBytesMax ? [first] : []
    }

    /// The bytes of a socket's path that the names of folder and socket leave.
    private static let runtimeBytesMax = 40

    private static func isOurs(_ folder: String, _ account: ServerAccount) -> Bool {
        if unsafe mkdir(folder, 0o700) == 0 { return (try? account.own(folder)) != nil }
        guard let status = Files.statusOfLink(folder), status.st_mode & S_IFMT == S_IFDIR else { return false }
        guard status.st_uid == account.user else { return false }
        if status.st_mode & 0o077 == 0 { return true }
        return unsafe chmod(folder, 0o700) == 0
    }
}
