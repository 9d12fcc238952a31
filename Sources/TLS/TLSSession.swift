import COpenSSL

package enum TLSReadResult: Equatable, Sendable {
    /// The number of bytes now at the start of the buffer.
    case bytes(Int)
    /// More ciphertext has to be fed first.
    case needsMore
    /// The peer closed the session with a close_notify; no more bytes follow.
    case ended
}

/// One TLS conversation between buffers: ciphertext in and plaintext out, and the reverse. It owns no socket.
///
/// Lives on one thread. After an error only `takeCiphertext` is useful, because an alert may be waiting there.
@safe package final class TLSSession {
    package enum State: Equatable, Sendable {
        /// The handshake is not complete. → open, ended
        case handshaking
        /// Data may be read and written. → ended
        case open
        /// The peer sent close_notify, or an error occurred.
        case ended
    }

    package private(set) var state = State.handshaking
    private let session: OpaquePointer
    /// Owned by `session`.
    private let incoming: OpaquePointer
    private let outgoing: OpaquePointer
    private let context: TLSContext
    /// The failure that reads throw after the data decrypted before it.
    private var failed: TLSError?

    /// - Parameter serverName: the peer's host name or IP literal, to be verified. Names are also sent as SNI.
    package init(_ context: TLSContext, serverName: String? = nil) throws(TLSError) {
        precondition(context.isServer == (serverName == nil), "a client has a server name, a server has none")
        ErrorQueue.clear()
        self.context = context
        guard let made = unsafe SSL_new(context.context) else { throw ErrorQueue.asLibraryError }
        guard let incoming = unsafe BIO_new(BIO_s_mem()), let outgoing = unsafe BIO_new(BIO_s_mem()) else {
            unsafe SSL_free(made)
            throw ErrorQueue.asLibraryError
        }
        unsafe SSL_set_bio(made, incoming, outgoing)
        unsafe session = unsafe made
        unsafe self.incoming = unsafe incoming
        unsafe self.outgoing = unsafe outgoing
        if let serverName {
            unsafe SSL_set_connect_state(session)
            try verify(serverName)
        } else {
            unsafe SSL_set_accept_state(session)
        }
    }

    deinit { unsafe SSL_free(session) }

    private func verify(_ serverName: String) throws(TLSError) {
        let bare = ServerName.bare(serverName)
        guard !bare.isEmpty, !bare.utf8.contains(0) else { throw .hostNameUnusable }
        // Try an IP address first: OpenSSL would take it for a host name that matches no certificate.
        if unsafe X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(session), bare) == 1 { return }
        ErrorQueue.clear()
        unsafe SSL_set_hostflags(session, ServerName.flags)
        guard unsafe SSL_set1_host(session, bare) == 1, unsafe shim_SSL_set_tlsext_host_name(session, bare) == 1
        else { throw ErrorQueue.asLibraryError }
    }

    /// Takes ciphertext from the socket and advances the handshake with it.
    package func feed(_ ciphertext: Span<UInt8>) throws(TLSError) {
        if ciphertext.isEmpty || state == .ended { return }
        let written = unsafe ciphertext.withUnsafeBytes { bytes in
            unsafe BIO_write(incoming, bytes.baseAddress, Int32(clamping: bytes.count))
        }
        guard written == ciphertext.count else { throw ErrorQueue.asLibraryError }
        if state == .handshaking { try advance() }
    }

    /// Advances the handshake as far as the bytes allow. A client calls it once to begin.
    package func advance() throws(TLSError) {
        guard state == .handshaking else { return }
        ErrorQueue.clear()
        let result = unsafe SSL_do_handshake(session)
        if result == 1 {
            state = .open
            return
        }
        if let failure = noteStop(result) { throw failure }
    }

    /// Fills the buffer from its start with as many records as have arrived and fit.
    package func read(into buffer: inout [UInt8]) throws(TLSError) -> TLSReadResult {
        precondition(!buffer.isEmpty)
        var filled = 0
        while state == .open && filled < buffer.count {
            ErrorQueue.clear()
            var count = 0
            let result = unsafe buffer.withUnsafeMutableBytes { bytes in
                unsafe SSL_read_ex(session, bytes.baseAddress?.advanced(by: filled), bytes.count - filled, &count)
            }
            if result == 1 {
                filled += count
            } else {
                // Return the data decrypted before a failure first.
                failed = noteStop(result)
                break
            }
        }
        if filled > 0 { return .bytes(filled) }
        if let failed { throw failed }
        return state == .ended ? .ended : .needsMore
    }

    /// Encrypts all of it, in records of 16 KiB. `takeCiphertext` returns the result.
    package func write(_ plaintext: Span<UInt8>) throws(TLSError) {
        precondition(state == .open, "data can be written only after the handshake and before the end")
        if plaintext.isEmpty { return }
        ErrorQueue.clear()
        var count = 0
        let result = unsafe plaintext.withUnsafeBytes { bytes in
            unsafe SSL_write_ex(session, bytes.baseAddress, bytes.count, &count)
        }
        // A memory buffer takes everything, so a write never waits.
        guard result == 1, count == plaintext.count else { throw failure() }
    }

    package var ciphertextCount: Int { unsafe BIO_ctrl_pending(outgoing) }

    package func takeCiphertext(into bytes: inout [UInt8]) {
        let count = ciphertextCount
        if count == 0 { return }
        let start = bytes.count
        bytes.append(contentsOf: repeatElement(0, count: count))
        let read = unsafe bytes.withUnsafeMutableBytes { all in
            unsafe BIO_read(outgoing, all.baseAddress?.advanced(by: start), Int32(clamping: count))
        }
        bytes.removeLast(count - max(0, Int(read)))
    }

    /// Queues a close_notify. Data that the peer sends may still be read.
    package func close() {
        guard state == .open else { return }
        ErrorQueue.clear()
        _ = unsafe SSL_shutdown(session)
        ErrorQueue.clear()
    }
}

// Failures of calls.
extension TLSSession {
    /// Returns nil if the call only needs more bytes, or if the peer closed, which `state` then shows.
    private func noteStop(_ result: Int32) -> TLSError? {
        switch unsafe SSL_get_error(session, result) {
        case SSL_ERROR_WANT_READ, SSL_ERROR_WANT_WRITE: return nil
        case SSL_ERROR_ZERO_RETURN:
            state = .ended
            return nil
        default: return failure()
        }
    }

    private func failure() -> TLSError {
        state = .ended
        let verification = unsafe SSL_get_verify_result(session)
        let entry = ErrorQueue.drain()
        if let alert = entry.alert { return alert == .noApplicationProtocol ? .noSharedProtocol : .alert(alert) }
        if entry.library == ERR_LIB_SSL, entry.reason == SSL_R_CERTIFICATE_VERIFY_FAILED {
            return .verification(TLSVerificationFault(code: Int32(verification)))
        }
        if entry.library == ERR_LIB_SSL, entry.reason == SSL_R_NO_APPLICATION_PROTOCOL { return .noSharedProtocol }
        return .protocolViolation(reason: entry.text)
    }
}

extension TLSVerificationFault {
    init(code: Int32) {
        switch code {
        case X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT: self = .selfSigned
        case X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT,
            X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY, X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE:
            self = .unknownIssuer
        case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH: self = .nameMismatch
        case X509_V_ERR_CERT_HAS_EXPIRED: self = .expired
        case X509_V_ERR_CERT_NOT_YET_VALID: self = .notYetValid
        case X509_V_ERR_CERT_REVOKED: self = .revoked
        default: self = .other(code: code)
        }
    }
}

// The result of the handshake.
extension TLSSession {
    /// The protocol that both sides chose; nil if the peer uses no ALPN.
    package var alpn: String? {
        var start: UnsafePointer<UInt8>?
        var count: UInt32 = 0
        unsafe SSL_get0_alpn_selected(session, &start, &count)
        guard count > 0 else { return nil }
        return unsafe String(decoding: UnsafeBufferPointer(start: start, count: Int(count)), as: UTF8.self)
    }

    package var peerCertificate: TLSCertificate? {
        guard let pointer = unsafe SSL_get1_peer_certificate(session) else { return nil }
        return try? TLSCertificate(unsafe CertificateHandle(adopting: pointer))
    }
}
