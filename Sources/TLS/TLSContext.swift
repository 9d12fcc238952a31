import COpenSSL

/// The TLS settings of one side: whom it trusts, its identity, and the protocols that it offers. TLS 1.2 and newer.
///
/// Immutable once made, and shared by the sessions of many threads. A rotation makes a new one.
@safe package final class TLSContext: @unchecked Sendable {
    // Proof for `@unchecked`: OpenSSL locks an SSL_CTX itself, and we change it only while making it.
    let context: OpaquePointer
    let isServer: Bool
    /// Used by the server's callback. It lives as long as the context, which every session retains.
    private let protocols: ProtocolList
    private let trust: TLSTrust?

    package enum ClientCertificates: Sendable {
        case ignored
        /// The server asks for one, and the handshake succeeds with any or none, as Apple's servers do.
        case requested
        /// The handshake fails unless these authorities signed the client's certificate.
        case required(TLSTrust)
    }

    package static func client(
        trust: TLSTrust, alpn: [String] = ["h2"], identity: TLSIdentity? = nil
    ) throws(TLSError) -> TLSContext {
        let made = try TLSContext(isServer: false, trust: trust, alpn)
        unsafe SSL_CTX_set_verify(made.context, SSL_VERIFY_PEER, nil)
        made.use(trust)
        if let identity { try made.use(identity) }
        if !alpn.isEmpty {
            let wire = made.protocols
            // Unlike the rest of OpenSSL, this function returns 0 for success.
            guard unsafe SSL_CTX_set_alpn_protos(made.context, wire.bytes.baseAddress, UInt32(wire.bytes.count)) == 0
            else { throw ErrorQueue.asLibraryError }
        }
        return made
    }

    /// Accepts a client that offers no ALPN, as Apple's servers do, but refuses one that offers only other protocols.
    package static func server(
        identity: TLSIdentity, alpn: [String] = ["h2"], clientCertificates: ClientCertificates = .ignored
    ) throws(TLSError) -> TLSContext {
        var trust: TLSTrust?
        if case .required(let authorities) = clientCertificates { trust = authorities }
        let made = try TLSContext(isServer: true, trust: trust, alpn)
        try made.use(identity)
        switch clientCertificates {
        case .ignored: unsafe SSL_CTX_set_verify(made.context, SSL_VERIFY_NONE, nil)
        case .requested: unsafe SSL_CTX_set_verify(made.context, SSL_VERIFY_PEER) { _, _ in 1 }
        case .required(let authorities):
            made.use(authorities)
            unsafe SSL_CTX_set_verify(made.context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, nil)
        }
        if !alpn.isEmpty {
            let list = unsafe Unmanaged.passUnretained(made.protocols).toOpaque()
            unsafe SSL_CTX_set_alpn_select_cb(made.context, selectProtocol, list)
        }
        return made
    }

    private init(isServer: Bool, trust: TLSTrust?, _ alpn: [String]) throws(TLSError) {
        ErrorQueue.clear()
        guard let made = unsafe SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method()) else {
            throw ErrorQueue.asLibraryError
        }
        unsafe context = unsafe made
        (self.isServer, self.trust) = (isServer, trust)
        protocols = ProtocolList(alpn)
        unsafe shim_SSL_CTX_set_common_options(context)
        unsafe shim_SSL_CTX_set_session_cache_off(context)
        _ = unsafe SSL_CTX_set_num_tickets(context, 0)
        // Idle connections keep no record buffers: 34 KiB each, times thousands of warm connections.
        _ = unsafe shim_SSL_CTX_set_mode(context, Int(SSL_MODE_RELEASE_BUFFERS))
        guard unsafe shim_SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1,
            unsafe SSL_CTX_set_ciphersuites(context, Self.suitesOfTLS13) == 1,
            unsafe SSL_CTX_set_cipher_list(context, Self.suitesOfTLS12) == 1
        else { throw ErrorQueue.asLibraryError }
    }

    deinit { unsafe SSL_CTX_free(context) }

    /// AES-128-GCM comes first: it has 10 rounds where AES-256 has 14, and neither can be broken.
    private static let suitesOfTLS13 = "TLS_AES_128_GCM_SHA256:TLS_AES_256_GCM_SHA384:TLS_CHACHA20_POLY1305_SHA256"
    /// HTTP/2 forbids all but the forward-secret AEAD suites (RFC 9113, section 9.2.2).
    private static let suitesOfTLS12 = "ECDHE+AESGCM:ECDHE+CHACHA20"

    private func use(_ trust: TLSTrust) { unsafe SSL_CTX_set1_cert_store(context, trust.store) }

    private func use(_ identity: TLSIdentity) throws(TLSError) {
        ErrorQueue.clear()
        guard unsafe SSL_CTX_use_certificate(context, identity.leaf.pointer) == 1,
            unsafe SSL_CTX_use_PrivateKey(context, identity.key.pointer) == 1
        else { throw ErrorQueue.asLibraryError }
        for certificate in identity.chain {
            guard unsafe shim_SSL_CTX_add_chain_certificate(context, certificate.pointer) == 1 else {
                throw ErrorQueue.asLibraryError
            }
        }
    }
}

/// ALPN names in wire format, a length octet before each, at a stable address.
@safe private final class ProtocolList {
    let bytes: UnsafeMutableBufferPointer<UInt8>

    init(_ names: [String]) {
        var wire: [UInt8] = []
        for name in names {
            precondition(
                (1...255).contains(name.utf8.count), "a protocol name has 1 to 255 bytes (RFC 7301, section 3.1)")
            wire.append(UInt8(name.utf8.count))
            wire.append(contentsOf: name.utf8)
        }
        unsafe bytes = .allocate(capacity: wire.count)
        _ = unsafe bytes.initialize(from: wire)
    }

    deinit { unsafe bytes.deallocate() }
}

/// Chooses the first of the server's protocols that the client offers.
private let selectProtocol: SSL_CTX_alpn_select_cb_func = { _, chosen, chosenLength, offered, offeredLength, context in
    guard let context = unsafe context, let chosen = unsafe chosen else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    let own = unsafe Unmanaged<ProtocolList>.fromOpaque(context).takeUnretainedValue()
    var match: UnsafeMutablePointer<UInt8>?
    let result = unsafe SSL_select_next_proto(
        &match, chosenLength, own.bytes.baseAddress, UInt32(own.bytes.count), offered, offeredLength)
    guard result == OPENSSL_NPN_NEGOTIATED else { return SSL_TLSEXT_ERR_ALERT_FATAL }
    unsafe chosen.pointee = UnsafePointer(match)
    return SSL_TLSEXT_ERR_OK
}
