import Reactor

package enum DialOrder {
    /// More addresses would only shorten the time that each one gets.
    package static let addressesMax = 8

    /// Orders the addresses so that a dead family costs one attempt: families alternate, the resolver's preferred one
    /// first.
    ///
    /// Within a family each connection starts at another address, so that a lane's connections spread over the
    /// provider's servers.
    /// Source: RFC 8305, section 4; docs/promises.md, "Connections".
    package static func arrange(_ addresses: [SocketAddress], start: Int) -> [SocketAddress] {
        guard let first = addresses.first else { return [] }
        var preferred = rotate(addresses.filter { $0.family == first.family }, start)[...]
        var others = rotate(addresses.filter { $0.family != first.family }, start)[...]
        var arranged: [SocketAddress] = []
        while arranged.count < addressesMax, !preferred.isEmpty || !others.isEmpty {
            if let next = preferred.popFirst() { arranged.append(next) }
            if let next = others.popFirst() { arranged.append(next) }
        }
        return Array(arranged.prefix(addressesMax))
    }

    private static func rotate(_ addresses: [SocketAddress], _ start: Int) -> [SocketAddress] {
        guard !addresses.isEmpty else { return [] }
        let cut = start % addresses.count
        return Array(addresses[cut...] + addresses[..<cut])
    }
}
