import Glibc

package enum ReactorError: Error, Equatable, Sendable {
    /// A system call failed. Holds the call's name and its errno, an open space.
    case system(call: String, SystemErrno)
    /// The resolver found no address. Retry only if `isTemporary`.
    case nameNotResolved(isTemporary: Bool)
    /// The bounded pool's queue is full.
    case poolIsFull
}

extension ReactorError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .system(let call, let errno): "\(call): \(errno)"
        case .nameNotResolved(let isTemporary): isTemporary ? "name not resolved for now" : "name not known"
        case .poolIsFull: "too many blocking tasks are waiting"
        }
    }
}

/// The kernel's error number: an open space.
package struct SystemErrno: Equatable, Hashable, Sendable, CustomStringConvertible {
    package let code: Int32
    package init(_ code: Int32) { self.code = code }

    /// The errno of the system call that just failed on this thread.
    static var last: SystemErrno { SystemErrno(errno) }

    package static let interrupted = SystemErrno(EINTR)
    package static let again = SystemErrno(EAGAIN)
    package static let inProgress = SystemErrno(EINPROGRESS)
    package static let connectionRefused = SystemErrno(ECONNREFUSED)
    package static let addressInUse = SystemErrno(EADDRINUSE)

    package var description: String {
        guard let text = unsafe strerror(code) else { return "errno \(code)" }
        return unsafe String(cString: text)
    }
}
