import COpenSSL
import Signing

/// The private key, certificate and intermediate certificates with which one side proves who it is.
///
/// Immutable. Its description names the certificate, never the key.
package struct TLSIdentity: Sendable, CustomStringConvertible {
    package let certificate: TLSCertificate
    let leaf: CertificateHandle
    let chain: [CertificateHandle]
    let key: KeyOwner

    /// Real identities have at most five.
    static let certificatesMax = 16
    /// A real file has about 10 KiB.
    package static let bytesMax = 256 * 1_024

    /// Reads a text that holds the certificate, perhaps its chain, and its key, in any order.
    /// Throws `.identity` with what is missing or wrong.
    /// - Parameter password: if nil, an encrypted key throws `.identity(.keyEncrypted)`, and no key is derived.
    package init(pem: [UInt8], password: [UInt8]? = nil) throws(TLSError) {
        guard pem.count <= TLSIdentity.bytesMax else { throw .identity(.tooLarge) }
        let key = try Self.readKey(pem, password)
        let certificates = try Self.readCertificates(pem, countMax: Self.certificatesMax)
        guard !certificates.isEmpty else { throw .identity(.certificateMissing) }
        try self.init(key: key, certificates: certificates)
    }

    init(key: KeyOwner, certificates: [CertificateHandle]) throws(TLSError) {
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

    /// Certificate, chain and key (PKCS#8, not encrypted) in one text. It is a secret, so seal it.
    package func pem() throws(TLSError) -> [UInt8] {
        ErrorQueue.clear()
        guard let bio = MemoryBIO(),
            ([leaf] + chain).allSatisfy({ unsafe PEM_write_bio_X509(bio.pointer, $0.pointer) == 1 }),
            unsafe PEM_write_bio_PKCS8PrivateKey(bio.pointer, key.pointer, nil, nil, 0, nil, nil) == 1
        else { throw ErrorQueue.asLibraryError }
        return bio.bytes()
    }

    package var description: String {
        "identity " + certificate.sha256.prefix(4).map { String($0, radix: 16) }.joined(separator: ":")
    }
}

extension TLSIdentity {
    private static func readKey(_ pem: [UInt8], _ password: [UInt8]?) throws(TLSError) -> KeyOwner {
        do throws(SigningError) {
            if let block = try PEMBlock.firstPrivateKey(in: pem) { return try KeyOwner(block, password: password) }
        } catch { throw TLSError(error) }
        throw .identity(.keyMissing)
    }

    /// Throws `.identity(.tooLarge)` for more than `countMax` certificates, before decoding any of them.
    static func readCertificates(_ pem: [UInt8], countMax: Int = .max - 1) throws(TLSError) -> [CertificateHandle] {
        let files: [[UInt8]]
        do throws(SigningError) { files = try PEMBlock.certificates(in: pem, countMax: countMax) } catch {
            throw .identity(.unreadable)
        }
        guard files.count <= countMax else { throw .identity(.tooLarge) }
        var certificates: [CertificateHandle] = []
        for file in files { certificates.append(try TLSCertificate.handle(der: file)) }
        return certificates
    }
}

extension TLSIdentity {
    /// Reads a PKCS#12 file, as Keychain exports it (often RC2-40, for which the legacy provider is loaded).
    ///
    /// Deriving its keys may take a second (`DerivationBudget`): call it on a thread that may block.
    /// Throws `.identity` with what is missing or wrong.
    package init(pkcs12: [UInt8], password: String) throws(TLSError) {
        guard pkcs12.count <= TLSIdentity.bytesMax else { throw .identity(.tooLarge) }
        _ = legacyProvider
        let archive = try PKCS12Archive(pkcs12, password: password)
        guard let key = archive.key else { throw .identity(.keyMissing) }
        guard !archive.certificates.isEmpty else { throw .identity(.certificateMissing) }
        try self.init(key: key, certificates: archive.certificates)
    }
}

/// Loads OpenSSL's old ciphers once per process; false if the machine has no legacy provider. The default provider is
/// loaded first, by name, because OpenSSL stops loading it by itself once another one is requested.
private let legacyProvider: Bool =
    unsafe OSSL_PROVIDER_load(nil, "default") != nil && OSSL_PROVIDER_load(nil, "legacy") != nil

/// One owner of an X509. Proof for `@unchecked`: OpenSSL counts with atomics, and a built one never changes.
@safe final class CertificateHandle: @unchecked Sendable {
    let pointer: OpaquePointer
    init(adopting pointer: OpaquePointer) { unsafe self.pointer = unsafe pointer }
    deinit { unsafe X509_free(pointer) }
}
