import Reactor
import Testing

@Suite("An address given by a client")
struct AddressReachTests {
    @Test(
        "counts as public if it is routed on the Internet",
        arguments: [
            "8.8.8.8", "1.1.1.1", "100.63.255.255", "100.128.0.1", "172.15.0.1", "172.32.0.1", "192.167.1.1",
            "198.20.0.1", "223.255.255.254", "2a00:1450:4001:80b::200a", "::ffff:8.8.8.8", "64:ff9b::808:808",
            "2002:808:808::1",
        ])
    func isPublic(text: String) throws {
        #expect(try #require(SocketAddress(literal: text, port: 443)).isPublic)
    }

    @Test(
        "never counts as public if it is local, reserved or unroutable",
        arguments: [
            "0.0.0.0", "10.0.0.1", "100.64.0.1", "100.127.255.255", "127.0.0.1", "127.8.8.8", "169.254.169.254",
            "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1", "198.51.100.7",
            "203.0.113.9", "224.0.0.1", "255.255.255.255", "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1",
            "::ffff:10.1.2.3", "64:ff9b::7f00:1", "2002:7f00:1::1", "2001:db8::1", "2001::1", "fc00::1", "fd12::1",
            "fe80::1", "ff02::1",
        ])
    func isNotPublic(text: String) throws {
        #expect(try !#require(SocketAddress(literal: text, port: 443)).isPublic)
    }
}
