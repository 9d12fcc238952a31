import Listener
import NIOCore
import NIOEmbedded
import NIOSSL
import Reactor
import TLS
import Testing

@Suite("The listener's TLS 1.2")
struct ListenerSuiteTests {
    @Test(
        "speaks the forward-secret AEAD suites",
        arguments: ["ECDHE-ECDSA-AES128-GCM-SHA256", "ECDHE-ECDSA-AES256-GCM-SHA384", "ECDHE-ECDSA-CHACHA20-POLY1305"])
    func spoken(suite: String) throws {
        #expect(try Self.greets(with: suite))
    }

    @Test("refuses suites with CBC", arguments: ["ECDHE-ECDSA-AES128-SHA", "ECDHE-ECDSA-AES256-SHA"])
    func refused(suite: String) throws {
        #expect(throws: NIOSSLError.self) { try Self.greets(with: suite) }
    }

    /// Whether a client that offers one suite gets a byte through to the listener's side.
    private static func greets(with suite: String) throws -> Bool {
        let pem = try CertificateAuthority(validity: .days(2, from: Clocks.wallNow())).issue(
            CertificateSubject(commonName: "localhost"), names: ["127.0.0.1"],
            validity: .days(2, from: Clocks.wallNow())
        ).pem()
        var offer = TLSConfiguration.makeClientConfiguration()
        (offer.maximumTLSVersion, offer.certificateVerification, offer.cipherSuites) = (.tlsv12, .none, suite)
        let own = try ListenerIdentity(certificates: pem, key: pem).configuration
        let (client, server) = (EmbeddedChannel(), EmbeddedChannel())
        try client.pipeline.syncOperations.addHandler(
            NIOSSLClientHandler(context: NIOSSLContext(configuration: offer), serverHostname: nil))
        try server.pipeline.syncOperations.addHandler(
            NIOSSLServerHandler(context: NIOSSLContext(configuration: own)))
        for channel in [client, server] {
            try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
        }
        // It is written once the handshake is over.
        client.writeAndFlush(ByteBuffer(string: "!"), promise: nil)
        for _ in 1...4 {
            while let bytes = try client.readOutbound(as: ByteBuffer.self) { try server.writeInbound(bytes) }
            while let bytes = try server.readOutbound(as: ByteBuffer.self) { try client.writeInbound(bytes) }
        }
        return try server.readInbound(as: ByteBuffer.self) == ByteBuffer(string: "!")
    }
}
