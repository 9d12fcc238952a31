import Glibc

/// The user that PostgreSQL runs as: our own, or an unprivileged one if we are root.
struct ServerAccount: Equatable, Sendable {
    let user: uid_t
    let group: gid_t
    /// The command line that runs another command as that user, if put before it.
    private let prefix: [String]

    /// - Parameter folder: an existing server folder, whose owner becomes the user.
    static func choose(owning folder: String?) throws(PrivateServerError) -> ServerAccount {
        let owner = folder.flatMap { Files.status($0) }
        guard geteuid() == 0 else {
            if let owner, owner.st_uid != geteuid() {
                throw .folderUnusable(path: folder ?? "", reason: "belongs to another user")
            }
            return ServerAccount(user: geteuid(), group: getegid(), prefix: [])
        }
        if let owner, owner.st_uid != 0 { return try becoming(owner.st_uid, owner.st_gid) }
        for name in ["postgres", "nobody"] {
            guard let entry = unsafe getpwnam(name) else { continue }
            return try becoming(unsafe entry.pointee.pw_uid, unsafe entry.pointee.pw_gid)
        }
        throw .accountMissing
    }

    /// setpriv replaces itself by the command: the started process is the server, and no terminal remains.
    private static func becoming(_ user: uid_t, _ group: gid_t) throws(PrivateServerError) -> ServerAccount {
        for folder in ["/usr/bin", "/bin", "/usr/sbin", "/sbin", "/usr/local/bin"] {
            let setpriv = folder + "/setpriv"
            guard unsafe access(setpriv, X_OK) == 0 else { continue }
            let prefix = [setpriv, "--reuid=\(user)", "--regid=\(group)", "--clear-groups", "--"]
            return ServerAccount(user: user, group: group, prefix: prefix)
        }
        throw .accountMissing
    }

    func command(_ program: String, _ arguments: [String]) -> [String] { prefix + [program] + arguments }

    func own(_ path: String) throws(PrivateServerError) {
        guard geteuid() == 0 else { return }
        guard unsafe lchown(path, user, group) == 0 else { throw Files.failure(path) }
    }

    /// Whether the user can access the folder. Root always can; another user needs permission for each folder above.
    func reaches(_ folder: String) -> Bool {
        prefix.isEmpty || ChildProcess.runQuietly(command("/usr/bin/test", ["-x", folder]))
    }
}
