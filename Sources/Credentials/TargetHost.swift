import Basis
import Reactor

/// Judges the target of a URL from a stranger by its host alone.
package enum TargetHost {
    /// Zones of private names (RFC 6761, RFC 6762, RFC 8375). Clouds use `internal` for their own names.
    private static let privateZones = ["localhost", "local", "internal", "home.arpa"]

    /// Whether the host is, or may be, this machine or its network.
    ///
    /// Resolvers read more than the usual form as an IPv4 address: 127.1, 0x7f000001, 2130706433. None of these is
    /// worth understanding: a host that ends in a number and is no plain address counts as private.
    package static func isPrivate(_ host: String) -> Bool {
        let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
        if let address = SocketAddress(literal: name, port: 443) { return !address.isPublic }
        return name.isEmpty || endsInNumber(name)
            || privateZones.contains { name == $0 || name.hasSuffix("." + $0) }
    }

    private static func endsInNumber(_ name: String) -> Bool {
        let last = name.split(separator: ".", omittingEmptySubsequences: false).last ?? ""
        if last.hasPrefix("0x") { return last.dropFirst(2).utf8.allSatisfy { "0123456789abcdef".utf8.contains($0) } }
        return last.utf8.allSatisfy(\.isDigit)
    }
}
