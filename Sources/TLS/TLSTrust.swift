import COpenSSL

/// The authorities that one side trusts. There is one for the whole process: the system's roots take over a megabyte,
/// and the contexts of many credentials share them.
@safe package final class TLSTrust: @unchecked Sendable {
    // Proof for `@unchecked`: a store locks itself (X509_STORE_lock), and we change it in `init` only.
    let store: OpaquePointer

    /// Trusts the system's authorities and those in the PEM text.
    package static func system(and extraPEM: [UInt8] = []) throws(TLSError) -> TLSTrust {
        let trust = try TLSTrust(pem: extraPEM)
        guard unsafe X509_STORE_set_default_paths(trust.store) == 1 else { throw ErrorQueue.asLibraryError }
        return trust
    }

    package static func only(pem: [UInt8]) throws(TLSError) -> TLSTrust { try TLSTrust(pem: pem) }

    private init(pem: [UInt8]) throws(TLSError) {
        ErrorQueue.clear()
        guard let made = unsafe X509_STORE_new() else { throw ErrorQueue.asLibraryError }
        unsafe store = unsafe made
        if pem.isEmpty { return }
        let authorities: [CertificateHandle]
        do { authorities = try TLSIdentity.readCertificates(pem) } catch { throw .trustUnreadable }
        guard !authorities.isEmpty else { throw .trustUnreadable }
        for authority in authorities {
            guard unsafe X509_STORE_add_cert(store, authority.pointer) == 1 else { throw .trustUnreadable }
        }
    }

    deinit { unsafe X509_STORE_free(store) }
}

extension TLSTrust {
    /// The name of the authority that issued the first certificate of a chain, if neither the chain nor this trust has
    /// its certificate. Then a peer that lacks it too can't verify the chain. nil: it is there.
    package func missingIssuer(of chainPEM: [UInt8]) throws(TLSError) -> String? {
        let chain = try TLSIdentity.readCertificates(chainPEM)
        guard let leaf = chain.first else { throw .identity(.certificateMissing) }
        let issuer = unsafe X509_get_issuer_name(leaf.pointer)
        // A certificate that issued itself is found here too.
        let isInChain = chain.contains { unsafe X509_NAME_cmp(X509_get_subject_name($0.pointer), issuer) == 0 }
        if isInChain { return nil }
        if try hasIssuer(of: leaf) { return nil }
        return unsafe TLSCertificate.text(NID_commonName, in: issuer)
            ?? TLSCertificate.text(NID_organizationName, in: issuer) ?? "without a name"
    }

    private func hasIssuer(of certificate: CertificateHandle) throws(TLSError) -> Bool {
        ErrorQueue.clear()
        guard let context = unsafe X509_STORE_CTX_new() else { throw ErrorQueue.asLibraryError }
        defer { unsafe X509_STORE_CTX_free(context) }
        guard unsafe X509_STORE_CTX_init(context, store, certificate.pointer, nil) == 1 else {
            throw ErrorQueue.asLibraryError
        }
        var found: OpaquePointer?
        defer { unsafe X509_free(found) }
        let isFound = unsafe X509_STORE_CTX_get1_issuer(&found, context, certificate.pointer) == 1
        ErrorQueue.clear()
        return isFound
    }
}
