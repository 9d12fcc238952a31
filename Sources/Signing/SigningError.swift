/// What can go wrong in this room. Never holds a key or a byte of what was signed or sealed.
package enum SigningError: Error, Equatable, Sendable {
    /// Not a PEM key.
    case keyUnreadable
    /// A key, of another kind or curve than the algorithm needs.
    case keyOfOtherKind
    /// What was sealed was changed, or sealed with another key or context.
    case notAuthentic
    /// OpenSSL could not do what it always can: out of memory, or a broken installation.
    case library
}

extension SigningError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .keyUnreadable: "key unreadable"
        case .keyOfOtherKind: "key of another kind"
        case .notAuthentic: "not authentic"
        case .library: "OpenSSL failed"
        }
    }
}
