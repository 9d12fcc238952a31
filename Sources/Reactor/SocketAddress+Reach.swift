extension SocketAddress {
    /// Whether the address may belong to a public host. False for this machine, private networks and reserved ranges,
    /// so that an address chosen by a stranger can't reach our internal network.
    /// Source: IANA's special-purpose address registries (RFC 6890).
    package var isPublic: Bool {
        switch family {
        case .ipv4: Self.isPublic(ipv4: bytes[...])
        case .ipv6: Self.isPublic(ipv6: bytes)
        }
    }

    private static func isPublic(ipv4 bytes: ArraySlice<UInt8>) -> Bool {
        let (first, second, third) = (bytes[bytes.startIndex], bytes[bytes.startIndex + 1], bytes[bytes.startIndex + 2])
        return switch (first, second, third) {
        // "This network", private networks, loopback, and from 224 on multicast and reserved.
        case (0, _, _), (10, _, _), (127, _, _), (224..., _, _): false
        case (100, 64...127, _): false  // shared by carriers
        case (169, 254, _): false  // link-local, where clouds serve their metadata
        case (172, 16...31, _), (192, 168, _): false
        case (192, 0, 0), (192, 0, 2), (198, 51, 100), (203, 0, 113): false  // protocol assignments, examples
        case (198, 18...19, _): false  // benchmarks
        default: true
        }
    }

    private static func isPublic(ipv6 bytes: [UInt8]) -> Bool {
        // These forms embed an IPv4 address, which decides.
        if bytes[..<10].allSatisfy({ $0 == 0 }), bytes[10] == bytes[11], bytes[10] == 0 || bytes[10] == 0xff {
            return isPublic(ipv4: bytes[12...])
        }
        if bytes[..<12] == [0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0] { return isPublic(ipv4: bytes[12...]) }
        if bytes[0] == 0x20, bytes[1] == 0x02 { return isPublic(ipv4: bytes[2..<6]) }
        // Global unicast is 2000::/3; 2001:db8::/32 is for examples, 2001::/23 for protocols.
        guard bytes[0] & 0xe0 == 0x20 else { return false }
        let isExample = bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] == 0x0d && bytes[3] == 0xb8
        return !isExample && !(bytes[0] == 0x20 && bytes[1] == 0x01 && bytes[2] < 2)
    }
}
