import Glibc

/// That a process uses the private server of a folder: whoever is the last to end stops it, and nobody stops it under
/// another. A killed process uses nothing any more; two uses within one process are two.
final class ServerUse: Sendable {
    private let descriptor: Int32

    /// Waits while the last one of before stops the server.
    init(_ file: String) throws(PrivateServerError) {
        descriptor = unsafe open(file, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
        guard descriptor >= 0 else { throw Files.failure(file) }
        while flock(descriptor, LOCK_SH) != 0 {
            guard errno == EINTR else { throw Files.failure(file) }
        }
    }

    /// Whether nobody else uses it; from then on whoever comes waits until this use ends.
    func isLast() -> Bool { flock(descriptor, LOCK_EX | LOCK_NB) == 0 }

    deinit { close(descriptor) }
}
