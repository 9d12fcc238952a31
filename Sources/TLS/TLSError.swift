import Signing

/// What can go wrong in this room. Holds values, never a key, a password or a byte of the conversation.
package enum TLSError: Error, Equatable, Sendable {
    /// We did not believe the peer's certificate.
    case verification(TLSVerificationFault)
    /// The peer said no.
    case alert(TLSAlert)
    /// The ALPN protocols have none in common.
    case noSharedProtocol
    /// What the peer sent is not TLS, or breaks its rules. The word is OpenSSL's.
    case protocolViolation(reason: String)
    /// A certificate or key that we were given to use.
    case identity(TLSIdentityFault)
    /// The extra authorities are not PEM certificates.
    case trustUnreadable
    /// A host name that can't be verified against (empty, or holding a NUL).
    case hostNameUnusable
    /// OpenSSL could not build an object of its own: out of memory, or a broken installation.
    case library(reason: String)
}

/// Why a peer's certificate was not believed.
package enum TLSVerificationFault: Equatable, Sendable {
    /// It stands for itself, and is not among the trusted ones.
    case selfSigned
    /// Nobody trusted signed it, or an intermediate certificate is missing.
    case unknownIssuer
    /// It names somebody else.
    case nameMismatch
    case expired
    case notYetValid
    case revoked
    /// OpenSSL's `X509_V_ERR_*`: an open space.
    case other(code: Int32)
}

/// Why a certificate and key can't be used. What a person who uploads one has to know.
package enum TLSIdentityFault: Equatable, Sendable {
    /// Neither PEM nor PKCS#12.
    case unreadable
    case certificateMissing
    case keyMissing
    /// No certificate in the text belongs to the key.
    case keyMismatch
    case wrongPassword
    /// An encryption that this machine's OpenSSL does not have (its legacy provider is missing).
    case encryptionUnsupported
    /// The key is of another kind, curve or length than is used here.
    case keyUnsupported
    /// The file asks for at least that many rounds of key derivation, which is too many.
    case derivationTooLong(rounds: Int)
    case tooLarge
}

/// The peer's alert: an open space (RFC 8446, section 6).
package struct TLSAlert: Equatable, Sendable, CustomStringConvertible {
    package let code: UInt8
    package init(code: UInt8) { self.code = code }

    package static let handshakeFailure = TLSAlert(code: 40)
    package static let badCertificate = TLSAlert(code: 42)
    package static let certificateRevoked = TLSAlert(code: 44)
    package static let certificateExpired = TLSAlert(code: 45)
    package static let unknownAuthority = TLSAlert(code: 48)
    package static let protocolVersion = TLSAlert(code: 70)
    package static let certificateRequired = TLSAlert(code: 116)
    package static let noApplicationProtocol = TLSAlert(code: 120)

    package var description: String {
        switch self {
        case .handshakeFailure: "handshake failure"
        case .badCertificate: "bad certificate"
        case .certificateRevoked: "certificate revoked"
        case .certificateExpired: "certificate expired"
        case .unknownAuthority: "unknown authority"
        case .protocolVersion: "protocol version"
        case .certificateRequired: "certificate required"
        case .noApplicationProtocol: "no application protocol"
        default: "alert \(code)"
        }
    }
}

extension TLSError {
    /// Why a private key could not be read.
    init(_ error: SigningError) {
        switch error {
        case .keyUnreadable: self = .identity(.unreadable)
        case .keyOfOtherKind: self = .identity(.keyUnsupported)
        case .keyEncrypted, .passwordWrong: self = .identity(.wrongPassword)
        case .derivationTooLong(let rounds): self = .identity(.derivationTooLong(rounds: rounds))
        case .encryptionUnsupported: self = .identity(.encryptionUnsupported)
        case .notAuthentic, .library: self = .library(reason: "\(error)")
        }
    }
}

extension TLSError: CustomStringConvertible {
    package var description: String {
        switch self {
        case .verification(let fault): "certificate not believed: \(fault)"
        case .alert(let alert): "the peer refused: \(alert)"
        case .noSharedProtocol: "no application protocol in common"
        case .protocolViolation(let reason): "not TLS as we know it: \(reason)"
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
        case .encryptionUnsupported: "encryption not supported here"
        case .keyUnsupported: "neither an RSA key of at most 8,192 bits nor one on P-256, P-384 or P-521"
        case .derivationTooLong(let rounds): "it asks for \(rounds) rounds of key derivation"
        case .tooLarge: "too large"
        }
    }
}
