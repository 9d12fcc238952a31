import COpenSSL

/// A certificate, those between it and its root, and the private key: what one side shows and proves.
///
/// Immutable. Its description names the certificate, never the key.
package struct TLSIdentity: Sendable, CustomStringConvertible {
    package let certificate: TLSCertificate
    let leaf: CertificateHandle
    let chain: [CertificateHandle]
    let key: KeyHandle

    /// A real one has at most five.
    private static let certificatesMax = 16
    /// A real file has about 10 KiB.
    package static let bytesMax = 256 * 1_024

    /// From a text that holds the certificate, perhaps its chain, and its key, in any order.
    ///
    /// - Parameter password: for an encrypted key.
    /// Throws `.identity` with what is missing or wrong.
    package init(pem: [UInt8], password: [UInt8] = []) throws(TLSError) {
        guard pem.count <= TLSIdentity.bytesMax else { throw .identity(.tooLarge) }
        let key = try Self.readKey(pem, password)
        let certificates = try Self.readCertificates(pem)
        guard !certificates.isEmpty else { throw .identity(.certificateMissing) }
        try self.init(key: key, certificates: certificates)
    }

    init(key: KeyHandle, certificates: [CertificateHandle]) throws(TLSError) {
        guard certificates.count <= TLSIdentity.certificatesMax else { throw .identity(.tooLarge) }
        let own = certificates.firstIndex { unsafe X509_check_private_key($0.pointer, key.pointer) == 1 }
        ErrorQueue.clear()
        guard let own else { throw .identity(.keyMismatch) }
        self.key = key
        leaf = certificates[own]
        var others = certificates
        others.remove(at: own)
        chain = others
        certificate = try TLSCertificate(leaf)
    }

    /// Certificate, chain and key (PKCS#8, not encrypted) in one text. A secret: to be sealed.
    package func pem() throws(TLSError) -> [UInt8] {
        ErrorQueue.clear()
        let bio = try MemoryBIO()
        for certificate in [leaf] + chain {
            guard unsafe PEM_write_bio_X509(bio.pointer, certificate.pointer) == 1 else {
                throw ErrorQueue.asLibraryError
            }
        }
        guard unsafe PEM_write_bio_PKCS8PrivateKey(bio.pointer, key.pointer, nil, nil, 0, nil, nil) == 1 else {
            throw ErrorQueue.asLibraryError
        }
        return bio.bytes()
    }

    package var description: String {
        "identity " + certificate.sha256.prefix(4).map { String($0, radix: 16) }.joined(separator: ":")
    }
}

extension TLSIdentity {
    private static func readKey(_ pem: [UInt8], _ password: [UInt8]) throws(TLSError) -> KeyHandle {
        ErrorQueue.clear()
        let bio = try MemoryBIO(holding: pem)
        // With a password OpenSSL never asks on the terminal, which it would do for a nil one.
        var terminated = password + [0]
        if let key = unsafe PEM_read_bio_PrivateKey(bio.pointer, nil, nil, &terminated) {
            return unsafe KeyHandle(adopting: key)
        }
        ErrorQueue.clear()
        // OpenSSL's own words differ with the kind of key; the text itself says what it holds.
        if pem.contains(word: "ENCRYPTED") { throw .identity(.wrongPassword) }
        if pem.contains(word: "PRIVATE KEY-----") || !pem.contains(word: "-----BEGIN ") {
            throw .identity(.unreadable)
        }
        throw .identity(.keyMissing)
    }

    static func readCertificates(_ pem: [UInt8]) throws(TLSError) -> [CertificateHandle] {
        ErrorQueue.clear()
        let bio = try MemoryBIO(holding: pem)
        var certificates: [CertificateHandle] = []
        while let certificate = unsafe PEM_read_bio_X509(bio.pointer, nil, nil, nil) {
            unsafe certificates.append(CertificateHandle(adopting: certificate))
        }
        let last = ErrorQueue.drainLast()
        // The end of the text; anything else is a block that says it is a certificate and is none.
        guard last.library == ERR_LIB_PEM, last.reason == PEM_R_NO_START_LINE else { throw .identity(.unreadable) }
        return certificates
    }
}

extension [UInt8] {
    fileprivate func contains(word: StaticString) -> Bool {
        let wanted = Array(String(describing: word).utf8)
        guard count >= wanted.count else { return false }
        return (0...(count - wanted.count)).contains { self[$0..<($0 + wanted.count)].elementsEqual(wanted) }
    }
}
