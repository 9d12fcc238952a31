import COpenSSL

/// ECDSA on P-256 with SHA-256, in the format of JWTs: R and S, 32 bytes each.
/// Source: RFC 7518, section 3.4.
package struct ES256Key: Sendable {
    private let key: KeyOwner

    /// Reads a private key in PEM (PKCS#8, as Apple's `.p8` files). An encrypted one throws `.keyEncrypted`.
    package init(pem: [UInt8]) throws(SigningError) { try self.init(KeyOwner(privatePEM: pem)) }

    private init(_ key: KeyOwner) throws(SigningError) {
        guard key.isP256() else { throw .keyOfOtherKind }
        self.key = key
    }

    /// Generates a key, for simulators, the demonstration and tests.
    package static func generate() throws(SigningError) -> ES256Key { try ES256Key(KeyOwner.generateP256()) }

    /// Returns 64 bytes. ECDSA is randomised: each signature of the same message differs.
    package func sign(_ message: [UInt8]) throws(SigningError) -> [UInt8] {
        guard let raw = ES256Signature.raw(fromDER: try key.sign(message)) else { throw .library }
        return raw
    }

    /// The private key. It is a secret, so seal it.
    package func privatePEM() throws(SigningError) -> [UInt8] { try key.pem(.privateKey) }
    package func publicPEM() throws(SigningError) -> [UInt8] { try key.pem(.publicKey) }
}

package struct ES256PublicKey: Sendable {
    private let key: KeyOwner

    /// Reads a public key in PEM (SubjectPublicKeyInfo).
    package init(pem: [UInt8]) throws(SigningError) {
        key = try KeyOwner(publicPEM: pem)
        guard key.isP256() else { throw .keyOfOtherKind }
    }

    /// Accepts a raw signature (64 bytes) or one in DER, as Apple seems to.
    /// Source: docs/promises.md, "Signatures of provider tokens".
    package func verifies(_ message: [UInt8], signature: [UInt8]) -> Bool {
        verifies(message, rawSignature: signature) || key.verifies(message, signature)
    }

    /// Accepts a raw signature alone, as the standard asks: no other bytes may be a signature of the same message.
    package func verifies(_ message: [UInt8], rawSignature: [UInt8]) -> Bool {
        guard rawSignature.count == ES256Signature.bytes, let der = ES256Signature.der(fromRaw: rawSignature) else {
            return false
        }
        return key.verifies(message, der)
    }
}

enum ES256Signature {
    static let bytes = 64
    private static let half: Int32 = 32

    static func raw(fromDER der: [UInt8]) -> [UInt8]? {
        guard let signature = unsafe decodedDER(der, { unsafe d2i_ECDSA_SIG(nil, $0, $1) }) else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        var r = [UInt8](repeating: 0, count: Int(half))
        var s = r
        guard unsafe BN_bn2binpad(ECDSA_SIG_get0_r(signature), &r, half) == half,
            unsafe BN_bn2binpad(ECDSA_SIG_get0_s(signature), &s, half) == half
        else { return nil }
        return r + s
    }

    static func der(fromRaw raw: [UInt8]) -> [UInt8]? {
        precondition(raw.count == bytes)
        guard let signature = unsafe ECDSA_SIG_new() else { return nil }
        defer { unsafe ECDSA_SIG_free(signature) }
        let r = unsafe BN_bin2bn(Array(raw.prefix(Int(half))), half, nil)
        let s = unsafe BN_bin2bn(Array(raw.suffix(Int(half))), half, nil)
        guard unsafe r != nil, unsafe s != nil, unsafe ECDSA_SIG_set0(signature, r, s) == 1 else {
            unsafe BN_free(r)
            unsafe BN_free(s)
            return nil
        }
        let der = unsafe encodedDER { unsafe i2d_ECDSA_SIG(signature, $0) }
        return der.isEmpty ? nil : der
    }
}
