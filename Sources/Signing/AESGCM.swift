import COpenSSL

/// AES-256 in Galois/Counter Mode, which encrypts secrets in the database.
///
/// A nonce is used once per key, so each sealing takes 12 fresh random bytes.
/// Source: NIST SP 800-38D.
package enum AESGCM {
    package static let keyBytes = 32
    package static let nonceBytes = 12
    package static let tagBytes = 16

    /// Returns the ciphertext followed by the tag.
    /// - Parameter context: bytes that are authenticated but not sealed, such as the row's key. Opening needs them too.
    package static func seal(
        _ plaintext: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8] = []
    ) throws(SigningError) -> [UInt8] {
        let cipher = try Cipher(key, nonce, isSealing: true)
        try cipher.authenticate(context)
        var sealed = try cipher.run(plaintext)
        guard cipher.finish() else { throw .library }
        sealed += try cipher.tag()
        return sealed
    }

    /// Throws `.notAuthentic` if the key, nonce, context or a byte differs.
    package static func open(
        _ sealed: [UInt8], key: [UInt8], nonce: [UInt8], context: [UInt8] = []
    ) throws(SigningError) -> [UInt8] {
        guard sealed.count >= tagBytes else { throw .notAuthentic }
        let cipher = try Cipher(key, nonce, isSealing: false)
        try cipher.authenticate(context)
        let plaintext = try cipher.run(Array(sealed.dropLast(tagBytes)))
        try cipher.expect(tag: Array(sealed.suffix(tagBytes)))
        guard cipher.finish() else { throw .notAuthentic }
        return plaintext
    }
}

@safe private struct Cipher: ~Copyable {
    private let context: OpaquePointer

    init(_ key: [UInt8], _ nonce: [UInt8], isSealing: Bool) throws(SigningError) {
        precondition(key.count == AESGCM.keyBytes && nonce.count == AESGCM.nonceBytes)
        ERR_clear_error()
        let made = unsafe EVP_CIPHER_CTX_new()
        // 12 bytes are GCM's default nonce length.
        guard let context = unsafe made,
            unsafe EVP_CipherInit_ex(context, EVP_aes_256_gcm(), nil, key, nonce, isSealing ? 1 : 0) == 1
        else {
            unsafe EVP_CIPHER_CTX_free(made)
            throw .library
        }
        unsafe self.context = unsafe context
    }

    deinit {
        unsafe EVP_CIPHER_CTX_free(context)
        ERR_clear_error()
    }

    func authenticate(_ bytes: [UInt8]) throws(SigningError) {
        if bytes.isEmpty { return }
        var count: Int32 = 0
        guard unsafe EVP_CipherUpdate(context, nil, &count, bytes, Int32(bytes.count)) == 1 else { throw .library }
    }

    func run(_ bytes: [UInt8]) throws(SigningError) -> [UInt8] {
        if bytes.isEmpty { return [] }
        var result = [UInt8](repeating: 0, count: bytes.count)
        var count: Int32 = 0
        guard unsafe EVP_CipherUpdate(context, &result, &count, bytes, Int32(bytes.count)) == 1, count == bytes.count
        else { throw .library }
        return result
    }

    /// Checks the tag if one is expected. GCM has no last block to write.
    func finish() -> Bool {
        var nothing = [UInt8](repeating: 0, count: AESGCM.tagBytes)
        var count: Int32 = 0
        return unsafe EVP_CipherFinal_ex(context, &nothing, &count) == 1
    }

    func tag() throws(SigningError) -> [UInt8] {
        var tag = [UInt8](repeating: 0, count: AESGCM.tagBytes)
        guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_GET_TAG, Int32(tag.count), &tag) == 1 else {
            throw .library
        }
        return tag
    }

    func expect(tag: [UInt8]) throws(SigningError) {
        var tag = tag
        guard unsafe EVP_CIPHER_CTX_ctrl(context, EVP_CTRL_AEAD_SET_TAG, Int32(tag.count), &tag) == 1 else {
            throw .library
        }
    }
}
