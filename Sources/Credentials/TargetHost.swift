import Basis
import Reactor

/// The hosts that a credential's `token_uri` may name.
package enum TargetHosts: Equatable, Sendable {
    /// Every host, plain http too: for stand-ins.
    case all
    /// Hosts outside our own network. The address that a name has is checked before each call.
    case outside
    /// These alone. A proxy looks names up itself, so nobody here learns whether one leads into our network.
    case listed([String])

    package func allows(_ host: String) -> Bool {
        switch self {
        case .all: true
        case .outside: !TargetHost.isPrivate(host)
        case .listed(let hosts): hosts.contains(TargetHost.canonical(host))
        }
    }
}

/// Judges the target of a URL from a stranger by its host alone.
package enum TargetHost {
    /// Zones of private names (RFC 6761, RFC 6762, RFC 8375). Clouds use `internal` for their own names.
    private static let privateZones = ["localhost", "local", "internal", "home.arpa"]

    /// Whether the host is, or may be, this machine or its network.
    ///
    /// Resolvers read more than the usual form as an IPv4 address: 127.1, 0x7f000001, 2130706433. None of these is
    /// worth understanding: a host that ends in a number and is no plain address counts as private.
    package static func isPrivate(_ host: String) -> Bool {
        let name = canonical(host)
        if let address = SocketAddress(literal: name, port: 443) { return !address.isPublic }
        return name.isEmpty || endsInNumber(name) || privateZones.contains { name == $0 || name.hasSuffix("." + $0) }
    }

    /// The name in lower case, without the dot of a name that is written in full.
    static func canonical(_ host: String) -> String {
        (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
    }

    private static func endsInNumber(_ name: String) -> Bool {
        let last = name.split(separator: ".", omittingEmptySubsequences: false).last ?? ""
        if last.hasPrefix("0x") { return last.dropFirst(2).utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) } }
        return last.utf8.allSatisfy(\.isDigit)
    }
}
