import COpenSSL

/// One block of a PEM text, decoded from base64 and not yet decrypted.
///
/// OpenSSL's own reader splits the text, so that the checked bytes are the bytes used.
package struct PEMBlock {
    /// The label after BEGIN.
    let name: String
    /// The lines before the base64. PEM's old encryption names its cipher there.
    let header: String
    let der: [UInt8]

    private static let keyNameEnd = "PRIVATE KEY"
    private static let certificateNames = ["CERTIFICATE", "X509 CERTIFICATE"]

    /// Returns the first private key of a text, or nil if no block is one.
    ///
    /// Throws `.keyUnreadable` for a text without blocks, or with a damaged block before the key.
    package static func firstPrivateKey(in text: [UInt8]) throws(SigningError) -> PEMBlock? {
        var key: PEMBlock?
        var hasBlocks = false
        try read(text) { block in
            hasBlocks = true
            if block.name.hasSuffix(keyNameEnd) { key = block }
            return key == nil
        }
        guard hasBlocks else { throw .keyUnreadable }
        return key
    }

    /// Returns the certificates of a text, each in DER and not yet decoded. Stops at `countMax` plus one.
    ///
    /// Throws `.keyUnreadable` for a damaged block.
    package static func certificates(in text: [UInt8], countMax: Int) throws(SigningError) -> [[UInt8]] {
        var certificates: [[UInt8]] = []
        try read(text) { block in
            if certificateNames.contains(block.name) { certificates.append(block.der) }
            return certificates.count <= countMax
        }
        return certificates
    }

    /// Returns the labels of all blocks of a text, such as "PUBLIC KEY". A text without blocks has none.
    ///
    /// Throws `.keyUnreadable` for a damaged block.
    package static func labels(in text: [UInt8]) throws(SigningError) -> [String] {
        var labels: [String] = []
        try read(text) { block in
            labels.append(block.name)
            return true
        }
        return labels
    }

    /// Hands over block after block until `take` returns false.
    private static func read(_ text: [UInt8], _ take: (PEMBlock) -> Bool) throws(SigningError) {
        ERR_clear_error()
        defer { ERR_clear_error() }
        guard let bio = MemoryBIO(pem: text) else { throw .library }
        while let block = next(in: bio) {
            guard take(block) else { return }
        }
        // This error means the end of the text; any other means a damaged block.
        let last = ERR_peek_last_error()
        guard shim_err_library(last) == ERR_LIB_PEM, shim_err_reason(last) == PEM_R_NO_START_LINE else {
            throw .keyUnreadable
        }
    }

    private static func next(in bio: borrowing MemoryBIO) -> PEMBlock? {
        var name: UnsafeMutablePointer<CChar>?
        var header: UnsafeMutablePointer<CChar>?
        var bytes: UnsafeMutablePointer<UInt8>?
        var count = 0
        guard unsafe PEM_read_bio(bio.pointer, &name, &header, &bytes, &count) == 1 else { return nil }
        defer {
            unsafe CRYPTO_free(name, nil, 0)
            unsafe CRYPTO_free(header, nil, 0)
            unsafe CRYPTO_clear_free(bytes, max(0, count), nil, 0)
        }
        return unsafe PEMBlock(
            name: name.map { unsafe String(cString: $0) } ?? "",
            header: header.map { unsafe String(cString: $0) } ?? "",
            der: Array(UnsafeBufferPointer(start: bytes, count: max(0, count))))
    }
}
