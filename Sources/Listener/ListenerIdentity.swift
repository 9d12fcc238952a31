import NIOSSL
import Synchronization

/// The certificate chain and key with which the API's own port speaks TLS.
package struct ListenerIdentity: Sendable {
    /// The forward-secret AEAD suites. Others (RSA key exchange, CBC) have been attacked again and again.
    private static let suitesOfTLS12 = "ECDHE+AESGCM:ECDHE+CHACHA20"

    package let configuration: TLSConfiguration
    fileprivate let context: NIOSSLContext
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
        guard let context = try? NIOSSLContext(configuration: configuration) else { throw .mismatch }
        (self.configuration, self.context) = (configuration, context)
    }
}

/// The identity that new connections get. Connections that are open keep the one that they began with.
package final class ServedIdentity: Sendable {
    private let identity: Mutex<ListenerIdentity>

    package init(_ identity: ListenerIdentity) { self.identity = Mutex(identity) }

    package func replace(by other: ListenerIdentity) { identity.withLock { $0 = other } }

    var context: NIOSSLContext { identity.withLock { $0.context } }
}
