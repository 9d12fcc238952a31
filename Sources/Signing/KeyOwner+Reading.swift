import COpenSSL

extension KeyOwner {
    /// Reads a PEM block.
    ///
    /// Throws `.keyUnreadable`, `.keyOfOtherKind`, and for an encrypted key `.passwordWrong`, `.derivationTooLong` or
    /// `.encryptionUnsupported`. OpenSSL never gets the chance to prompt on the terminal.
    /// - Parameter password: if nil, an encrypted key throws `.keyEncrypted` and no key is derived.
    package convenience init(_ block: PEMBlock, password: [UInt8]?) throws(SigningError) {
        let der = try block.decrypted(password)
        guard Self.isEncrypted(der) else {
            try self.init(PrivateKeyInfo(der: der))
            return
        }
        guard let password else { throw .keyEncrypted }
        var budget = DerivationBudget()
        try self.init(encryptedPKCS8: der, password: password, &budget)
    }

    /// Reads encrypted PKCS#8.
    /// - Parameter password: to PKCS#12, nil differs from the empty password.
    package convenience init(
        encryptedPKCS8 der: [UInt8], password: [UInt8]?, _ budget: inout DerivationBudget
    ) throws(SigningError) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let encrypted = unsafe decodedDER(der, { unsafe d2i_X509_SIG(nil, $0, $1) }) else { throw .keyUnreadable }
        defer { unsafe X509_SIG_free(encrypted) }
        var algorithm: UnsafePointer<X509_ALGOR>?
        unsafe X509_SIG_get0(encrypted, &algorithm, nil)
        // Re-encode what OpenSSL parsed: a second parse of the file's bytes could differ from it.
        try budget.spend(onEncryption: unsafe encodedDER { unsafe i2d_X509_ALGOR(algorithm, $0) })
        let terminated = password.map { ($0 + [0]).map { CChar(bitPattern: $0) } }
        let decrypted = unsafe PKCS8_decrypt(encrypted, terminated, Int32(password?.count ?? 0))
        guard let info = unsafe decrypted else {
            throw shim_err_library(ERR_peek_error()) == ERR_LIB_EVP ? .encryptionUnsupported : .passwordWrong
        }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(info) }
        try self.init(pkcs8: unsafe encodedDER { unsafe i2d_PKCS8_PRIV_KEY_INFO(info, $0) })
    }

    package convenience init(pkcs8 der: [UInt8]) throws(SigningError) { try self.init(PrivateKeyInfo(der: der)) }

    private convenience init(_ info: PrivateKeyInfo) throws(SigningError) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let parsed = unsafe decodedDER(info.der, { unsafe d2i_PKCS8_PRIV_KEY_INFO(nil, $0, $1) }) else {
            throw .keyUnreadable
        }
        defer { unsafe PKCS8_PRIV_KEY_INFO_free(parsed) }
        guard let key = unsafe EVP_PKCS82PKEY(parsed) else { throw .keyUnreadable }
        try unsafe self.init(adopting: key)
    }

    /// EncryptedPrivateKeyInfo begins with its algorithm, every other form with a version.
    private static func isEncrypted(_ der: [UInt8]) -> Bool {
        var file = DERReader(der)
        return (try? file.structure())?.isNext(DERTag.sequence) ?? false
    }
}

extension PEMBlock {
    /// Returns the bytes, decrypted if the block uses PEM's old encryption, which derives with a single round.
    fileprivate func decrypted(_ password: [UInt8]?) throws(SigningError) -> [UInt8] {
        guard !header.isEmpty else { return der }
        ERR_clear_error()
        defer { ERR_clear_error() }
        var cipher = unsafe EVP_CIPHER_INFO()
        var lines = header.utf8CString.map { $0 }
        guard unsafe PEM_get_EVP_CIPHER_INFO(&lines, &cipher) == 1 else { throw .keyUnreadable }
        guard unsafe cipher.cipher != nil else { return der }
        guard let password else { throw .keyEncrypted }
        var bytes = der
        var count = bytes.count
        // With a nil password OpenSSL would prompt on the terminal.
        var terminated = password + [0]
        guard unsafe PEM_do_header(&cipher, &bytes, &count, nil, &terminated) == 1 else { throw .passwordWrong }
        return Array(bytes.prefix(count))
    }
}

/// Calls an `i2d_*` function twice: for the length, then for the bytes.
package func encodedDER(_ encode: (UnsafeMutablePointer<UnsafeMutablePointer<UInt8>?>?) -> Int32) -> [UInt8] {
    let length = encode(nil)
    guard length > 0 else { return [] }
    return unsafe Array(unsafeUninitializedCapacity: Int(length)) { buffer, count in
        var next = buffer.baseAddress
        count = max(0, Int(unsafe encode(&next)))
    }
}

/// Calls a `d2i_*` function with the bytes and their number.
package func decodedDER<Object>(
    _ der: [UInt8], _ decode: (UnsafeMutablePointer<UnsafePointer<UInt8>?>?, Int) -> Object?
) -> Object? {
    unsafe der.withUnsafeBufferPointer { buffer in
        var next = buffer.baseAddress
        return unsafe decode(&next, buffer.count)
    }
}
