import Basis
import Lanes
import Reactor

/// The address where the HTTP API listens. Port 0: any free one.
package typealias ListenAddress = Endpoint

/// The address of a server: one that the program calls, or its own.
package struct Endpoint: Equatable, Sendable, CustomStringConvertible {
    package let host: String
    package let port: UInt16
    package init(host: String, port: UInt16) { (self.host, self.port) = (host, port) }

    /// Whether only this machine can reach it.
    var isLoopback: Bool {
        guard let address = SocketAddress(literal: host, port: port) else { return host == "localhost" }
        switch address.family {
        case .ipv4: return address.bytes[0] == SocketAddress(loopbackPort: port).bytes[0]
        case .ipv6: return address == SocketAddress(loopbackIPv6Port: port)
        }
    }

    /// The address in the form of a URL: IPv6 literals in brackets.
    package var description: String { (host.contains(":") ? "[\(host)]" : host) + ":\(port)" }
}

/// A proxy, and our credentials for it. Its description holds nothing secret.
package struct ProxyAddress: Equatable, Sendable, CustomStringConvertible {
    package let endpoint: Endpoint
    /// The value of `proxy-authorization`; nil: the proxy asks for none.
    let authorization: Secret<[UInt8]>?

    package init(endpoint: Endpoint, authorization: [UInt8]? = nil) {
        self.endpoint = endpoint
        self.authorization = authorization.map(Secret.init)
    }

    package var forLanes: ProxySettings {
        ProxySettings(host: endpoint.host, port: endpoint.port, authorization: authorization?.revealed)
    }

    package var description: String { endpoint.description }
}
