import Glibc

/// One process's use of a folder's private server. The last user to end stops the server; no other may stop it. A
/// killed process no longer counts. Two uses within one process count twice.
final class ServerUse: Sendable {
    private let descriptor: Int32

    /// Waits while an earlier last user stops the server.
    init(_ file: String) throws(PrivateServerError) {
        descriptor = try Files.open(file, O_RDWR | O_CREAT, mode: 0o600)
        while flock(descriptor, LOCK_SH) != 0 {
            guard errno == EINTR else { throw Files.failure(file) }
        }
    }

    /// Whether no other use exists. If so, new ones wait until this use ends.
    func isLast() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    deinit { close(descriptor) }
}
