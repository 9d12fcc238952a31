/// An error of this module. It never holds a key or a byte of what was signed or sealed.
package enum SigningError: Error, Equatable, Sendable {
    case keyUnreadable
    /// The key's kind, curve or length is not supported.
    case keyOfOtherKind
    case keyEncrypted
    case passwordWrong
    /// The file asks for at least this many rounds of key derivation, more than `DerivationBudget.roundsMax`.
    case derivationTooLong(rounds: Int)
    /// The encryption is unknown here, or this machine's OpenSSL lacks it.
    case encryptionUnsupported
    /// The sealed bytes were changed, or sealed with another key or context.
    case notAuthentic
    /// OpenSSL failed at an operation that always works: out of memory, or a broken installation.
    case library
}

extension SigningError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .keyUnreadable: "key unreadable"
        case .keyOfOtherKind: "key of another kind"
        case .keyEncrypted: "key encrypted"
        case .passwordWrong: "wrong password"
        case .derivationTooLong(let rounds): "\(rounds) rounds of key derivation are too many"
        case .encryptionUnsupported: "encryption not supported here"
        case .notAuthentic: "not authentic"
        case .library: "OpenSSL failed"
        }
    }
}
