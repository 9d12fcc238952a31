import COpenSSL

package enum Hashes {
    package static let sha256Bytes = 32

    package static func sha256(_ bytes: [UInt8]) -> [UInt8] {
        var digest = [UInt8](repeating: 0, count: sha256Bytes)
        let done = unsafe EVP_Digest(bytes, bytes.count, &digest, nil, fetchedSHA256, nil)
        precondition(done == 1, "libcrypto always has SHA-256")
        return digest
    }

    /// Fetched once. OpenSSL's one-shot functions look it up by name each time, which takes longer than hashing a key.
    nonisolated(unsafe) private static let fetchedSHA256 = unsafe EVP_MD_fetch(nil, "SHA256", nil)

    /// Compares in constant time, which does not reveal where the bytes differ. Different lengths return at once.
    package static func areEqual(_ first: [UInt8], _ second: [UInt8]) -> Bool {
        guard first.count == second.count else { return false }
        return unsafe CRYPTO_memcmp(first, second, first.count) == 0
    }
}
