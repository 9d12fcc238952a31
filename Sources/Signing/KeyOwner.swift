import COpenSSL

/// The owner of one key. Proof for `@unchecked`: OpenSSL counts its references with atomics and we never change a key.
/// So many threads may sign and verify with it at once.
@safe package final class KeyOwner: @unchecked Sendable, CustomStringConvertible {
    package let pointer: OpaquePointer

    enum Part {
        case privateKey
        case publicKey
    }

    package init(adopting pointer: OpaquePointer?) throws(SigningError) {
        guard let pointer = unsafe pointer else {
            ERR_clear_error()
            throw .library
        }
        unsafe self.pointer = unsafe pointer
    }

    /// Reads a private key in PEM. Takes no password: an encrypted key throws `.keyEncrypted`.
    convenience init(privatePEM pem: [UInt8]) throws(SigningError) {
        guard pem.count <= KeyOwner.pemBytesMax, let block = try PEMBlock.firstPrivateKey(in: pem) else {
            throw .keyUnreadable
        }
        try self.init(block, password: nil)
    }

    convenience init(publicPEM pem: [UInt8]) throws(SigningError) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard pem.count <= KeyOwner.pemBytesMax, let bio = MemoryBIO(pem: pem) else { throw .keyUnreadable }
        // An empty password, because OpenSSL would prompt on the terminal for a nil one.
        var password: [UInt8] = [0]
        let key = unsafe PEM_read_bio_PUBKEY(bio.pointer, nil, nil, &password)
        withExtendedLifetime(bio) {}
        guard let key = unsafe key else { throw .keyUnreadable }
        try unsafe self.init(adopting: key)
    }

    package static func generateP256() throws(SigningError) -> KeyOwner {
        ERR_clear_error()
        return try unsafe KeyOwner(adopting: shim_EVP_generate_p256())
    }

    deinit { unsafe EVP_PKEY_free(pointer) }

    /// A real key has at most 7 KiB.
    private static let pemBytesMax = 64 * 1_024

    /// A constant, so that logs never show the key.
    package var description: String { "key" }

    func isP256() -> Bool {
        var name = [CChar](repeating: 0, count: 64)
        var length = 0
        defer { ERR_clear_error() }
        guard unsafe EVP_PKEY_get_base_id(pointer) == EVP_PKEY_EC,
            unsafe EVP_PKEY_get_group_name(pointer, &name, name.count, &length) == 1
        else { return false }
        return name.prefix(length).elementsEqual("prime256v1".utf8.map { CChar(bitPattern: $0) })
    }

    func pem(_ part: Part) throws(SigningError) -> [UInt8] {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let bio = MemoryBIO() else { throw .library }
        let result =
            switch part {
            case .privateKey: unsafe PEM_write_bio_PKCS8PrivateKey(bio.pointer, pointer, nil, nil, 0, nil, nil)
            case .publicKey: unsafe PEM_write_bio_PUBKEY(bio.pointer, pointer)
            }
        guard result == 1 else { throw .library }
        return bio.bytes()
    }

    /// Signs with SHA-256 and the key's own algorithm, in OpenSSL's encoding.
    func sign(_ message: [UInt8]) throws(SigningError) -> [UInt8] {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_MD_CTX_new() else { throw .library }
        defer { unsafe EVP_MD_CTX_free(context) }
        var length = 0
        guard unsafe EVP_DigestSignInit(context, nil, EVP_sha256(), nil, pointer) == 1,
            unsafe EVP_DigestSign(context, nil, &length, message, message.count) == 1
        else { throw .library }
        var signature = [UInt8](repeating: 0, count: length)
        guard unsafe EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else { throw .library }
        return Array(signature.prefix(length))
    }

    func verifies(_ message: [UInt8], _ signature: [UInt8]) -> Bool {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let context = unsafe EVP_MD_CTX_new() else { return false }
        defer { unsafe EVP_MD_CTX_free(context) }
        guard unsafe EVP_DigestVerifyInit(context, nil, EVP_sha256(), nil, pointer) == 1 else { return false }
        return unsafe EVP_DigestVerify(context, signature, signature.count, message, message.count) == 1
    }
}
