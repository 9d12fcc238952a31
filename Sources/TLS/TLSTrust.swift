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
