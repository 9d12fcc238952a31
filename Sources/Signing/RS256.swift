import COpenSSL

/// RSASSA-PKCS1-v1_5 with SHA-256, as Google's service accounts sign.
/// Source: RFC 7518, section 3.3.
package struct RS256Key: Sendable {
    private let key: KeyOwner

    /// RFC 7518 forbids fewer than 2048 bits.
    fileprivate static let bitsMin: Int32 = 2_048

    /// Reads a private key in PEM (PKCS#8 or PKCS#1). An encrypted one throws `.keyEncrypted`.
    package init(pem: [UInt8]) throws(SigningError) { try self.init(KeyOwner(privatePEM: pem)) }

    private init(_ key: KeyOwner) throws(SigningError) {
        guard unsafe EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA,
            unsafe EVP_PKEY_get_bits(key.pointer) >= RS256Key.bitsMin
        else { throw .keyOfOtherKind }
        self.key = key
    }

    /// Generates a key of 2048 bits, for simulators, the demonstration and tests.
    package static func generate() throws(SigningError) -> RS256Key {
        ERR_clear_error()
        return try RS256Key(unsafe KeyOwner(adopting: shim_EVP_generate_rsa(UInt32(bitsMin))))
    }

    package func sign(_ message: [UInt8]) throws(SigningError) -> [UInt8] { try key.sign(message) }

    /// The private key. It is a secret, so seal it.
    package func privatePEM() throws(SigningError) -> [UInt8] { try key.pem(.privateKey) }
    package func publicPEM() throws(SigningError) -> [UInt8] { try key.pem(.publicKey) }
}

package struct RS256PublicKey: Sendable {
    private let key: KeyOwner

    /// Verifying with a longer key takes longer, and strangers decide how often.
    private static let bitsMax = Int32(PrivateKeyInfo.rsaBitsMax)

    /// Reads a public key in PEM (SubjectPublicKeyInfo).
    package init(pem: [UInt8]) throws(SigningError) {
        key = try KeyOwner(publicPEM: pem)
        guard unsafe EVP_PKEY_get_base_id(key.pointer) == EVP_PKEY_RSA,
            (RS256Key.bitsMin...Self.bitsMax).contains(unsafe EVP_PKEY_get_bits(key.pointer))
        else { throw .keyOfOtherKind }
    }

    package func verifies(_ message: [UInt8], signature: [UInt8]) -> Bool { key.verifies(message, signature) }
}
