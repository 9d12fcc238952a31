import Glibc

/// An address to connect to or to listen on: IPv4 or IPv6, with a port.
package struct SocketAddress: Hashable, Sendable {
    package enum Family: Hashable, Sendable {
        case ipv4
        case ipv6
    }

    package let family: Family
    /// The address in network order: 4 or 16 bytes.
    package let bytes: [UInt8]
    /// 0: any free port.
    package let port: UInt16
    /// IPv6's zone, for link-local addresses.
    private let scope: UInt32

    private init(family: Family, bytes: [UInt8], port: UInt16, scope: UInt32 = 0) {
        (self.family, self.bytes, self.port, self.scope) = (family, bytes, port, scope)
    }

    package init(loopbackPort port: UInt16) { self.init(family: .ipv4, bytes: [127, 0, 0, 1], port: port) }

    /// The address 0.0.0.0, to listen on every IPv4 address of this machine.
    package init(everyAddressPort port: UInt16) { self.init(family: .ipv4, bytes: [0, 0, 0, 0], port: port) }

    package init(loopbackIPv6Port port: UInt16) {
        self.init(family: .ipv6, bytes: [UInt8](repeating: 0, count: 15) + [1], port: port)
    }

    /// Parses a literal address ("192.0.2.1", "::1", "[::1]"). nil for any other text.
    package init?(literal: String, port: UInt16) {
        let bare = literal.hasPrefix("[") && literal.hasSuffix("]") ? String(literal.dropFirst().dropLast()) : literal
        var ipv4 = in_addr()
        if unsafe inet_pton(AF_INET, bare, &ipv4) == 1 {
            self.init(family: .ipv4, bytes: Self.octets(ipv4), port: port)
            return
        }
        var ipv6 = in6_addr()
        guard unsafe inet_pton(AF_INET6, bare, &ipv6) == 1 else { return nil }
        self.init(family: .ipv6, bytes: Self.octets(ipv6), port: port)
    }

    package func replacingPort(_ port: UInt16) -> SocketAddress {
        SocketAddress(family: family, bytes: bytes, port: port, scope: scope)
    }
}

extension SocketAddress: CustomStringConvertible {
    package var description: String {
        switch family {
        case .ipv4: "\(hostText):\(port)"
        case .ipv6: "[\(hostText)]:\(port)"
        }
    }

    package var hostText: String {
        switch family {
        case .ipv4: bytes.map { String($0) }.joined(separator: ".")
        case .ipv6: ipv6Text
        }
    }

    private var ipv6Text: String {
        var text = [CChar](repeating: 0, count: Int(INET6_ADDRSTRLEN))
        let written = unsafe inet_ntop(AF_INET6, bytes, &text, socklen_t(text.count))
        guard unsafe written != nil else { return "" }
        return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
    }
}

extension SocketAddress {
    var protocolFamily: Int32 {
        switch family {
        case .ipv4: AF_INET
        case .ipv6: AF_INET6
        }
    }

    func withKernelAddress<Result>(_ body: (UnsafePointer<sockaddr>, socklen_t) -> Result) -> Result {
        var storage = sockaddr_storage()
        let length = unsafe withUnsafeMutableBytes(of: &storage) { unsafe fill($0) }
        return unsafe withUnsafePointer(to: &storage) { pointer in
            unsafe pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { unsafe body($0, length) }
        }
    }

    private func fill(_ storage: UnsafeMutableRawBufferPointer) -> socklen_t {
        switch family {
        case .ipv4:
            var address = sockaddr_in()
            address.sin_family = sa_family_t(AF_INET)
            address.sin_port = port.bigEndian
            unsafe withUnsafeMutableBytes(of: &address.sin_addr) { unsafe $0.copyBytes(from: bytes) }
            unsafe storage.storeBytes(of: address, as: sockaddr_in.self)
            return socklen_t(MemoryLayout<sockaddr_in>.size)
        case .ipv6:
            var address = sockaddr_in6()
            address.sin6_family = sa_family_t(AF_INET6)
            address.sin6_port = port.bigEndian
            address.sin6_scope_id = scope
            unsafe withUnsafeMutableBytes(of: &address.sin6_addr) { unsafe $0.copyBytes(from: bytes) }
            unsafe storage.storeBytes(of: address, as: sockaddr_in6.self)
            return socklen_t(MemoryLayout<sockaddr_in6>.size)
        }
    }

    init?(_ pointer: UnsafePointer<sockaddr>) {
        switch unsafe Int32(pointer.pointee.sa_family) {
        case AF_INET:
            self = unsafe pointer.withMemoryRebound(to: sockaddr_in.self, capacity: 1) {
                unsafe SocketAddress($0.pointee)
            }
        case AF_INET6:
            self = unsafe pointer.withMemoryRebound(to: sockaddr_in6.self, capacity: 1) {
                unsafe SocketAddress($0.pointee)
            }
        default: return nil
        }
    }

    private init(_ address: sockaddr_in) {
        self.init(family: .ipv4, bytes: Self.octets(address.sin_addr), port: UInt16(bigEndian: address.sin_port))
    }

    private init(_ address: sockaddr_in6) {
        self.init(
            family: .ipv6, bytes: Self.octets(address.sin6_addr), port: UInt16(bigEndian: address.sin6_port),
            scope: address.sin6_scope_id)
    }

    private static func octets<Address>(_ address: Address) -> [UInt8] {
        unsafe withUnsafeBytes(of: address) { unsafe Array($0) }
    }
}
