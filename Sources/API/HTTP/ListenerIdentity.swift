import NIOSSL

/// The certificate chain and key with which the API's own port speaks TLS.
package struct ListenerIdentity: Sendable {
    /// The forward-secret AEAD suites. Others (RSA key exchange, CBC) have been attacked again and again.
    private static let suitesOfTLS12 = "ECDHE+AESGCM:ECDHE+CHACHA20"

    package let configuration: TLSConfiguration
    /// The expiry of the server's own certificate, in seconds since 1970.
    package let notAfterSeconds: Int64

    package enum Fault: Error, Equatable, Sendable {
        case noCertificate
        /// There is no key, or it has a passphrase.
        case noKey
        /// The key does not belong to the certificate.
        case mismatch
    }

    /// - Parameters:
    ///   - certificates: PEM, the server's own first, then those that lead to a known authority.
    ///   - key: PEM without a passphrase.
    package init(certificates: [UInt8], key: [UInt8]) throws(Fault) {
        guard let chain = try? NIOSSLCertificate.fromPEMBytes(certificates), let own = chain.first else {
            throw .noCertificate
        }
        notAfterSeconds = Int64(own.notValidAfter)
        // Without a callback the library would ask for a passphrase on the terminal.
        guard let key = try? NIOSSLPrivateKey(bytes: key, format: .pem, passphraseCallback: { $0([UInt8]()) }) else {
            throw .noKey
        }
        var configuration = TLSConfiguration.makeServerConfiguration(
            certificateChain: chain.map { .certificate($0) }, privateKey: .privateKey(key))
        configuration.minimumTLSVersion = .tlsv12
        configuration.cipherSuites = Self.suitesOfTLS12
        configuration.applicationProtocols = ["http/1.1"]
        guard (try? NIOSSLContext(configuration: configuration)) != nil else { throw .mismatch }
        self.configuration = configuration
    }
}
