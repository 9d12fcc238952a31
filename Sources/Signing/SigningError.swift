/// What can go wrong in this room. Never holds a key or a byte of what was signed or sealed.
package enum SigningError: Error, Equatable, Sendable {
    /// Not a PEM key.
    case keyUnreadable
    /// A key, of another kind, curve or length than is used here.
    case keyOfOtherKind
    /// The key is encrypted, and no password is taken for it.
    case keyEncrypted
    case passwordWrong
    /// The file asks for at least that many rounds of key derivation, which is more than `DerivationBudget.roundsMax`.
    case derivationTooLong(rounds: Int)
    /// An encryption that is not known here, or that this machine's OpenSSL does not have.
    case encryptionUnsupported
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
        case .keyEncrypted: "key encrypted"
        case .passwordWrong: "wrong password"
        case .derivationTooLong(let rounds): "\(rounds) rounds of key derivation are too many"
        case .encryptionUnsupported: "encryption not supported here"
        case .notAuthentic: "not authentic"
        case .library: "OpenSSL failed"
        }
    }
}
