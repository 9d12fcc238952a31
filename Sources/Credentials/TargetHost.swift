import Reactor

/// Where a URL that somebody else chose would lead, as far as its host says so by itself.
package enum TargetHost {
    /// Names that lead to this machine or its network wherever they are asked about (RFC 6761, RFC 6762, RFC 8375;
    /// `internal` is what clouds call their own).
    private static let privateZones = ["localhost", "local", "internal", "home.arpa"]

    /// Whether it is, or may be, this machine or its network.
    ///
    /// Resolvers read more as an IPv4 address than its usual form: 127.1, 0x7f000001, 2130706433. None of these is worth
    /// understanding: a host that ends in a number and is no plain address counts as private.
    package static func isPrivate(_ host: String) -> Bool {
        let name = (host.hasSuffix(".") ? String(host.dropLast()) : host).lowercased()
        if let address = SocketAddress(literal: name, port: 443) { return !address.isPublic }
        return name.isEmpty || endsInNumber(name)
            || privateZones.contains { name == $0 || name.hasSuffix("." + $0) }
    }

    private static func endsInNumber(_ name: String) -> Bool {
        let last = name.split(separator: ".", omittingEmptySubsequences: false).last ?? ""
        if last.hasPrefix("0x") { return last.dropFirst(2).utf8.allSatisfy { $0.isHexadecimalDigit } }
        return last.utf8.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
    }
}

extension UInt8 {
    fileprivate var isHexadecimalDigit: Bool {
        (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(self) || (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(self)
    }
}
