import COpenSSL
import Signing

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
    unsafe OSSL_PROVIDER_load(nil, "default") != nil
    && OSSL_PROVIDER_load(nil, "legacy") != nil
