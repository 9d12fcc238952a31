import AsyncHTTPClient
import Basis
import Calendar
import Foundation
import NIOCore
import NIOPosix
import NIOSSL

/// Why a peer can't be reached, for people. The libraries' own descriptions hold memory addresses and paths.
package enum NetworkTrouble: Equatable, Sendable {
    case connectionRefused
    case nameUnknown
    case noWayThere
    /// The connection was not made in time.
    case noConnection
    /// The connection was made, but no answer came in time.
    case timedOut
    /// The peer closed the connection before it answered.
    case closed
    case lacksTLS
    /// The certificate's authority is not trusted here, or no other reason was found.
    case certificateUntrusted
    case certificateExpired(WallInstant)
    case certificateNotYetValid(WallInstant)
    case certificateOfOtherNames
    /// Another TLS failure, by OpenSSL's name for it.
    case noTLS(String)
    case proxyRefuses
    case errorNumber(Int32)
    case other(String)

    package init(_ error: any Error) {
        switch error {
        case let error as HTTPClientError: self.init(client: error)
        case let error as NIOConnectionError: self.init(connection: error)
        case let error as IOError: self.init(errorNumber: error.errnoCode)
        case is ChannelError: self = .noConnection
        case let error as NIOSSLExtraError:
            self = error == .failedToValidateHostname ? .certificateOfOtherNames : .noTLS("NO_USABLE_NAME")
        case let error as NIOSSLError: self.init(tls: error)
        case is SocketAddressError.UnknownHost: self = .nameUnknown
        default: self = .other("\(type(of: error))")
        }
    }

    private init(client error: HTTPClientError) {
        switch error {
        case .connectTimeout, .tlsHandshakeTimeout, .getConnectionFromPoolTimeout, .httpProxyHandshakeTimeout,
            .socksHandshakeTimeout:
            self = .noConnection
        case .deadlineExceeded, .readTimeout, .writeTimeout: self = .timedOut
        case .remoteConnectionClosed, .uncleanShutdown: self = .closed
        case .proxyAuthenticationRequired, .invalidProxyResponse: self = .proxyRefuses
        default: self = .other(error.shortDescription)
        }
    }

    private init(connection error: NIOConnectionError) {
        // A name may have several addresses, each with its own failure; the first one is representative.
        if let first = error.connectionErrors.first {
            self.init(first.error)
        } else {
            self = error.dnsAError != nil || error.dnsAAAAError != nil ? .nameUnknown : .noWayThere
        }
    }

    private init(errorNumber number: Int32) {
        switch number {
        case ECONNREFUSED: self = .connectionRefused
        case ECONNRESET, EPIPE, ECONNABORTED: self = .closed
        case EHOSTUNREACH, ENETUNREACH, ENETDOWN, EHOSTDOWN, EADDRNOTAVAIL: self = .noWayThere
        case ETIMEDOUT: self = .noConnection
        default: self = .errorNumber(number)
        }
    }

    private init(tls error: NIOSSLError) {
        switch error {
        case .handshakeFailed(.sslError(let stack)), .handshakeFailed(.unknownError(let stack)):
            let text = stack.map { "\($0)" }.joined(separator: " ")
            let reason = text.firstMatch(of: #/:([A-Z][A-Z0-9_]+) at /#).map { String($0.1) } ?? "HANDSHAKE_FAILED"
            switch reason {
            case "CERTIFICATE_VERIFY_FAILED": self = .certificateUntrusted
            case "WRONG_VERSION_NUMBER", "HTTP_REQUEST", "HTTPS_PROXY_REQUEST": self = .lacksTLS
            default: self = text.contains("EOF during handshake") ? .closed : .noTLS(reason)
            }
        case .unableToValidateCertificate, .noCertificateToValidate: self = .certificateUntrusted
        case .uncleanShutdown: self = .closed
        default: self = .noTLS("HANDSHAKE_FAILED")
        }
    }

    /// The end of the sentence "... can't be reached: ".
    package var sentence: String {
        switch self {
        case .connectionRefused: "no program listens there (connection refused)"
        case .nameUnknown: "its host name is unknown (DNS)"
        case .noWayThere: "there is no route to it from this machine's network"
        case .noConnection: "the connection attempt timed out"
        case .timedOut: "it did not answer in time"
        case .closed: "it closed the connection without an answer"
        case .lacksTLS: "it does not speak TLS"
        case .certificateUntrusted: "its certificate was issued by an authority that this machine does not trust"
        case .certificateExpired(let end): "its certificate expired on \(Self.day(end))"
        case .certificateNotYetValid(let start): "its certificate is not valid before \(Self.day(start))"
        case .certificateOfOtherNames: "its certificate was issued for other host names"
        case .noTLS(let reason): "the TLS handshake failed (\(reason))"
        case .proxyRefuses: "the proxy refuses to connect to it"
        case .errorNumber(let number): "the connection failed (system error \(number))"
        case .other(let code): "the connection failed (\(code))"
        }
    }

    private static func day(_ instant: WallInstant) -> String { String(RFC3339.format(instant).prefix(10)) }
}

/// Inspects the certificate of a peer that was not trusted, because the library doesn't report the reason.
package enum CertificateInspector {
    private static let timeout: TimeAmount = .seconds(5)

    /// - Returns: `trouble` unchanged if no more is known.
    package static func explain(_ trouble: NetworkTrouble, host: String, port: Int) async -> NetworkTrouble {
        guard trouble == .certificateUntrusted, let leaf = await leaf(host: host, port: port) else { return trouble }
        let now = Int64(Date().timeIntervalSince1970)
        let (start, end) = (Int64(leaf.notValidBefore), Int64(leaf.notValidAfter))
        if now >= end { return .certificateExpired(WallInstant(secondsSince1970: end)) }
        return now < start ? .certificateNotYetValid(WallInstant(secondsSince1970: start)) : trouble
    }

    /// Fetches the peer's first certificate. Sends no request and trusts no peer: the handshake is aborted.
    private static func leaf(host: String, port: Int) async -> NIOSSLCertificate? {
        guard let context = try? NIOSSLContext(configuration: .makeClientConfiguration()) else { return nil }
        let group = MultiThreadedEventLoopGroup.singleton
        let seen = group.any().makePromise(of: NIOSSLCertificate?.self)
        let bootstrap = ClientBootstrap(group: group).connectTimeout(timeout).channelInitializer { channel in
            channel.eventLoop.makeCompletedFuture {
                // SNI can't carry an IP address.
                let isName = (try? SocketAddress(ipAddress: host, port: port)) == nil
                let handler = try NIOSSLClientHandler(context: context, serverHostname: isName ? host : nil) {
                    chain, verdict in
                    seen.succeed(chain.first)
                    verdict.succeed(NIOSSLVerificationResult.failed)
                }
                try channel.pipeline.syncOperations.addHandler(handler)
            }
        }
        let deadline = group.any().scheduleTask(in: timeout) { seen.succeed(nil) }
        let channel = try? await bootstrap.connect(host: host, port: port).get()
        if channel == nil { seen.succeed(nil) }
        let leaf = try? await seen.futureResult.get()
        deadline.cancel()
        try? await channel?.close()
        return leaf ?? nil
    }
}
