import COpenSSL

/// HMAC with SHA-256, in the format of JWTs: 32 bytes.
/// Source: RFC 7518, section 3.2.
package struct HS256Key: Sendable {
    private let key: KeyOwner

    /// The length of a secret. RFC 7518 forbids less than the hash's length, and more than its block adds nothing.
    package static let secretBytes = 32...1_024

    /// Throws `.keyOfOtherKind` for a secret that is too short or too long.
    package init(secret: [UInt8]) throws(SigningError) {
        guard HS256Key.secretBytes.contains(secret.count) else { throw .keyOfOtherKind }
        ERR_clear_error()
        key = try unsafe KeyOwner(adopting: EVP_PKEY_new_raw_private_key(EVP_PKEY_HMAC, nil, secret, secret.count))
    }

    package func sign(_ message: [UInt8]) throws(SigningError) -> [UInt8] { try key.sign(message) }

    /// Compares in constant time.
    package func verifies(_ message: [UInt8], signature: [UInt8]) -> Bool {
        guard let own = try? key.sign(message) else { return false }
        return Hashes.areEqual(own, signature)
    }
}
