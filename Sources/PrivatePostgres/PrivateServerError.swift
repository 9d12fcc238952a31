/// The reason why there is no private PostgreSQL: one line each, for the person who starts the gateway.
package enum PrivateServerError: Error, Equatable, Sendable {
    /// No programs of PostgreSQL 15 or newer are below /usr/lib/postgresql or in PATH.
    case programsMissing
    /// The programs of the major version that created the folder are missing.
    case versionMissing(String)
    /// The gateway runs as root, and there is no user to run PostgreSQL as, or no program to switch to that user.
    case accountMissing
    /// A file or folder could not be created, read or owned.
    case folderUnusable(path: String, reason: String)
    /// Holds the program's last line.
    case initdbFailed(String)
    case didNotStart(String)
    /// The server is still recovering, or stuck.
    case startTookTooLong
    /// Another process has been starting or stopping the same server for too long.
    case folderBusy(path: String)
}

extension PrivateServerError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .programsMissing:
            "PostgreSQL 15 or newer was not found: install it (Debian: apt install postgresql), or give the URL of a "
                + "database in CARILLON_DATABASE_URL"
        case .versionMissing(let version):
            "the data folder was made by PostgreSQL \(version), which is not installed: install that version beside "
                + "yours, or bring the data over (docs/operations/upgrade-postgresql.md)"
        case .accountMissing:
            "PostgreSQL does not run as root: create a user named postgres, and install setpriv (package util-linux)"
        case .folderUnusable(let path, let reason): "\(path): \(reason)"
        case .initdbFailed(let line): "initdb failed: \(line)"
        case .didNotStart(let line): "PostgreSQL did not start: \(line)"
        case .startTookTooLong: "PostgreSQL has not become ready in time; see its log beside its folder"
        case .folderBusy(let path): "another process keeps \(path) locked"
        }
    }
}
