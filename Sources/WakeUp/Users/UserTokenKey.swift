import Encodings
import Signing

/// The algorithms of users' tokens, by the names that JWTs use.
/// Source: RFC 7518, section 3.1.
package enum UserTokenAlgorithm: String, CaseIterable, Sendable {
    case hs256 = "HS256"
    case rs256 = "RS256"
    case es256 = "ES256"
}

/// A key that verifies users' tokens, as an app's backend submitted it.
package struct UserTokenKey: Sendable {
    /// The name that tokens call the key by. An app's keys have different ones.
    package let kid: String
    package let algorithm: UserTokenAlgorithm
    private let material: Material

    /// A token has to hold the name, and tokens are short.
    package static let kidBytesMax = 128
    /// The PEM of an RSA key of 8,192 bits has 1.5 KiB.
    package static let pemBytesMax = 8 * 1_024

    private enum Material: Sendable {
        case hs256(HS256Key)
        case rs256(RS256PublicKey)
        case es256(ES256PublicKey)
    }

    /// - Parameter submitted: the secret in base64url for HS256, and a public key in PEM for the others.
    package init(kid: String, algorithm: UserTokenAlgorithm, submitted: String) throws(UserTokenKeyFault) {
        guard (1...Self.kidBytesMax).contains(kid.utf8.count) else { throw .kidLength(bytes: kid.utf8.count) }
        (self.kid, self.algorithm) = (kid, algorithm)
        switch algorithm {
        case .hs256: material = .hs256(try Self.secret(submitted))
        case .rs256:
            material = .rs256(
                try Self.publicKey(submitted) { (pem) throws(SigningError) in try RS256PublicKey(pem: pem) })
        case .es256:
            material = .es256(
                try Self.publicKey(submitted) { (pem) throws(SigningError) in try ES256PublicKey(pem: pem) })
        }
    }

    func verifies(_ message: [UInt8], signature: [UInt8]) -> Bool {
        switch material {
        case .hs256(let key): key.verifies(message, signature: signature)
        case .rs256(let key): key.verifies(message, signature: signature)
        case .es256(let key): key.verifies(message, rawSignature: signature)
        }
    }

    private static func secret(_ submitted: String) throws(UserTokenKeyFault) -> HS256Key {
        guard let secret = Base64.urlDecode(submitted.utf8) else { throw .secretNotBase64URL }
        guard HS256Key.secretBytes.contains(secret.count) else { throw .secretLength(bytes: secret.count) }
        do throws(SigningError) { return try HS256Key(secret: secret) } catch { throw UserTokenKeyFault(error) }
    }

    /// Checks the labels first, because a private key must not be stored, and OpenSSL reads one block alone.
    private static func publicKey<Key>(
        _ submitted: String, _ open: ([UInt8]) throws(SigningError) -> Key
    ) throws(UserTokenKeyFault) -> Key {
        guard submitted.utf8.count <= pemBytesMax else { throw .pemTooLong(bytes: submitted.utf8.count) }
        let pem = Array(submitted.utf8)
        let labels: [String]
        do throws(SigningError) { labels = try PEMBlock.labels(in: pem) } catch { throw UserTokenKeyFault(error) }
        guard !labels.contains(where: { $0.hasSuffix("PRIVATE KEY") }) else { throw .privateKey }
        guard labels == ["PUBLIC KEY"] else { throw .notOnePublicKey }
        do throws(SigningError) { return try open(pem) } catch { throw UserTokenKeyFault(error) }
    }
}

/// The reason why a submitted key cannot verify tokens. It holds nothing of the key.
package enum UserTokenKeyFault: Error, Equatable, Sendable {
    /// Not 1 to `UserTokenKey.kidBytesMax` bytes.
    case kidLength(bytes: Int)
    /// The secret is not base64url without padding.
    case secretNotBase64URL
    /// The decoded secret has not a length in `HS256Key.secretBytes`.
    case secretLength(bytes: Int)
    /// More than `UserTokenKey.pemBytesMax`.
    case pemTooLong(bytes: Int)
    /// The PEM has a private key, which must not leave its owner.
    case privateKey
    /// The PEM is not exactly one block with the label PUBLIC KEY.
    case notOnePublicKey
    case keyUnreadable
    /// The key is not for the algorithm, or its length is not supported.
    case keyOfOtherKind
    /// OpenSSL failed. The same key may be accepted later.
    case library

    fileprivate init(_ error: SigningError) {
        switch error {
        case .keyOfOtherKind: self = .keyOfOtherKind
        case .library: self = .library
        case .keyUnreadable, .keyEncrypted, .passwordWrong, .derivationTooLong, .encryptionUnsupported, .notAuthentic:
            self = .keyUnreadable
        }
    }
}
