import COpenSSL

extension TLSIdentity {
    /// From a PKCS#12 file, as Keychain exports it (often RC2-40: the legacy provider is loaded for that).
    ///
    /// Deriving its keys may take milliseconds, or seconds where the file says so: a matter for the blocking pool.
    /// Throws `.identity` with what is missing or wrong.
    package init(pkcs12: [UInt8], password: String) throws(TLSError) {
        guard pkcs12.count <= TLSIdentity.bytesMax else { throw .identity(.tooLarge) }
        _ = legacyProvider
        let contents = try Self.open(pkcs12, password)
        guard let key = contents.key else { throw .identity(.keyMissing) }
        guard !contents.certificates.isEmpty else { throw .identity(.certificateMissing) }
        try self.init(key: key, certificates: contents.certificates)
    }

    private struct Contents {
        let key: KeyHandle?
        let certificates: [CertificateHandle]
    }

    private static func open(_ bytes: [UInt8], _ password: String) throws(TLSError) -> Contents {
        ErrorQueue.clear()
        let file = unsafe bytes.withUnsafeBufferPointer { buffer in
            var next = buffer.baseAddress
            return unsafe d2i_PKCS12(nil, &next, buffer.count)
        }
        guard let file = unsafe file else {
            ErrorQueue.clear()
            throw .identity(.unreadable)
        }
        defer { unsafe PKCS12_free(file) }
        var key: OpaquePointer?
        var leaf: OpaquePointer?
        var others: OpaquePointer?
        guard unsafe PKCS12_parse(file, password, &key, &leaf, &others) == 1 else {
            throw .identity(fault(ErrorQueue.drain()))
        }
        defer { if let others = unsafe others { unsafe shim_sk_X509_free_all(others) } }
        var certificates: [CertificateHandle] = []
        if let leaf = unsafe leaf { unsafe certificates.append(CertificateHandle(adopting: leaf)) }
        for index in unsafe 0..<max(0, others.map { unsafe shim_sk_X509_num($0) } ?? 0) {
            guard let other = unsafe shim_sk_X509_value(others, index) else { continue }
            unsafe X509_up_ref(other)
            unsafe certificates.append(CertificateHandle(adopting: other))
        }
        return unsafe Contents(key: key.map { unsafe KeyHandle(adopting: $0) }, certificates: certificates)
    }

    private static func fault(_ entry: ErrorQueue.Entry) -> TLSIdentityFault {
        switch (entry.library, entry.reason) {
        case (ERR_LIB_PKCS12, PKCS12_R_MAC_VERIFY_FAILURE), (ERR_LIB_PKCS12, PKCS12_R_PKCS12_CIPHERFINAL_ERROR):
            .wrongPassword
        case (ERR_LIB_EVP, _): .encryptionUnsupported
        default: .unreadable
        }
    }
}

/// Loads OpenSSL's old ciphers once for the process. The default provider first and by name: OpenSSL stops loading
/// it by itself as soon as another one is asked for. False where the machine has no legacy provider.
private let legacyProvider: Bool =
    unsafe OSSL_PROVIDER_load(nil, "default") != nil
    && OSSL_PROVIDER_load(nil, "legacy") != nil
