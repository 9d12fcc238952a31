import COpenSSL
import Signing

extension TLSIdentity {
    /// From a PKCS#12 file, as Keychain exports it (often RC2-40: the legacy provider is loaded for that).
    ///
    /// Deriving its keys may take a second (`DerivationBudget`): call it where a thread may be blocked.
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

/// Loads OpenSSL's old ciphers once for the process. The default provider first and by name: OpenSSL stops loading
/// it by itself as soon as another one is asked for. False where the machine has no legacy provider.
private let legacyProvider: Bool =
    unsafe OSSL_PROVIDER_load(nil, "default") != nil
    && OSSL_PROVIDER_load(nil, "legacy") != nil
