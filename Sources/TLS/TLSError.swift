import Signing

/// An error of this module. Its values never hold a key, a password or a byte of the conversation.
package enum TLSError: Error, Equatable, Sendable {
    case verification(TLSVerificationFault)
    case alert(TLSAlert)
    case noSharedProtocol
    /// The peer's bytes are not TLS or break its rules. The reason is OpenSSL's text.
    case protocolViolation(reason: String)
    case identity(TLSIdentityFault)
    case trustUnreadable
    /// The host name can't be verified against: it is empty or contains a NUL.
    case hostNameUnusable
    /// OpenSSL could not build an object of its own: out of memory, or a broken installation.
    case library(reason: String)
}

package enum TLSVerificationFault: Equatable, Sendable {
    /// The certificate is self-signed and not among the trusted ones.
    case selfSigned
    /// No trusted authority signed it, or an intermediate certificate is missing.
    case unknownIssuer
    case nameMismatch
    case expired
    case notYetValid
    case revoked
    /// Another code of OpenSSL (`X509_V_ERR_*`): an open space.
    case other(code: Int32)
}

/// The reason why a certificate and key can't be used, for the person who uploads them.
package enum TLSIdentityFault: Equatable, Sendable {
    case unreadable
    case certificateMissing
    case keyMissing
    /// No certificate in the text belongs to the key.
    case keyMismatch
    case wrongPassword
    /// The key is encrypted, and no password was given.
    case keyEncrypted
    /// This machine's OpenSSL lacks the encryption (its legacy provider is missing).
    case encryptionUnsupported
    /// The key's kind, curve or length is not supported.
    case keyUnsupported
    /// The file asks for too many rounds of key derivation: at least this many.
    case derivationTooLong(rounds: Int)
    case tooLarge
}

/// The peer's alert: an open space (RFC 8446, section 6).
package struct TLSAlert: Equatable, Sendable, CustomStringConvertible {
    package let code: UInt8

    package static let certificateRequired = TLSAlert(code: 116)
    package static let noApplicationProtocol = TLSAlert(code: 120)

    private static let names: [UInt8: String] = [
        40: "handshake failure", 42: "bad certificate", 44: "certificate revoked", 45: "certificate expired",
        48: "unknown authority", 70: "protocol version", 116: "certificate required", 120: "no application protocol",
    ]
    package var description: String { Self.names[code] ?? "alert \(code)" }
}

extension TLSError {
    init(_ error: SigningError) {
        switch error {
        case .keyUnreadable: self = .identity(.unreadable)
        case .keyOfOtherKind: self = .identity(.keyUnsupported)
        case .keyEncrypted: self = .identity(.keyEncrypted)
        case .passwordWrong: self = .identity(.wrongPassword)
        case .derivationTooLong(let rounds): self = .identity(.derivationTooLong(rounds: rounds))
        case .encryptionUnsupported: self = .identity(.encryptionUnsupported)
        case .notAuthentic, .library: self = .library(reason: "\(error)")
        }
    }
}

extension TLSError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .verification(let fault): "certificate not trusted: \(fault)"
        case .alert(let alert): "the peer refused: \(alert)"
        case .noSharedProtocol: "no application protocol in common"
        case .protocolViolation(let reason): "TLS protocol violation: \(reason)"
        case .identity(let fault): "certificate and key unusable: \(fault)"
        case .trustUnreadable: "extra authorities unreadable"
        case .hostNameUnusable: "host name unusable"
        case .library(let reason): "OpenSSL: \(reason)"
        }
    }
}

extension TLSVerificationFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .selfSigned: "self-signed"
        case .unknownIssuer: "unknown issuer"
        case .nameMismatch: "name mismatch"
        case .expired: "expired"
        case .notYetValid: "not yet valid"
        case .revoked: "revoked"
        case .other(let code): "verification error \(code)"
        }
    }
}

extension TLSIdentityFault: CustomStringConvertible {
    package var description: String {
        switch self {
        case .unreadable: "neither PEM nor PKCS#12"
        case .certificateMissing: "no certificate"
        case .keyMissing: "no private key"
        case .keyMismatch: "no certificate belongs to the key"
        case .wrongPassword: "wrong password"
        case .keyEncrypted: "key encrypted"
        case .encryptionUnsupported: "encryption not supported here"
        case .keyUnsupported: "neither an RSA key of at most 8,192 bits nor one on P-256, P-384 or P-521"
        case .derivationTooLong(let rounds): "it asks for \(rounds) rounds of key derivation"
        case .tooLarge: "too large"
        }
    }
}
