import CommandLine
import Credentials
import NIOCore
import NIOPosix
import NIOSSL
import Reactor
import Server
import TLS
import Testing

@Suite("A fetch of an access token", .timeLimit(.minutes(1)))
struct TokenEndpointTests {
    @Test("fails once the host has sent too much, even if it sends interim answers alone")
    func interimAnswers() async throws {
        let host = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { $0.pipeline.addHandler(Flooding()) }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(host.localAddress?.port)
        let outbound = try OutboundHTTP(authorityFile: nil, proxy: nil, targets: .all)
        do throws(TokenEndpointFault) {
            _ = try await outbound.post(form: Array("assertion=ey".utf8), to: "http://127.0.0.1:\(port)/token")
            Issue.record("there was no answer to return")
        } catch {
            #expect(error == .unreachable("it sent more than 81920 bytes"))
        }
        try await host.close()
    }

    @Test("asks the host's next address if nothing listens at the first one")
    func secondAddress() async throws {
        let host = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { $0.pipeline.addHandler(Refusing()) }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(host.localAddress?.port)
        let outbound = try OutboundHTTP(authorityFile: nil, proxy: nil, targets: .all) { _ in
            ["127.0.0.2", "127.0.0.1"].compactMap { Reactor.SocketAddress(literal: $0, port: 443) }
        }
        let answer = try await outbound.post(form: [], to: "http://token.example.com:\(port)/token")
        #expect(answer.status == 400)
        try await host.close()
    }

    @Test(
        "trusts a wildcard for a whole first label with two labels behind it, and no other",
        arguments: [
            ("*.example.com", "token.example.com", true), ("token.example.com", "token.example.com", true),
            ("127.0.0.1", "127.0.0.1", true), ("*.com", "example.com", false), ("*", "token", false),
            ("token*.example.com", "token1.example.com", false),
        ])
    func wildcards(certified: String, asked: String, isTrusted: Bool) async throws {
        let validity = CertificateValidity.days(1, from: Clocks.wallNow())
        let authority = try CertificateAuthority(validity: validity)
        let identity = try authority.issue(
            CertificateSubject(commonName: "token host"), names: [certified], validity: validity)
        let pem = try identity.pem()
        let tls = TLSConfiguration.makeServerConfiguration(
            certificateChain: try NIOSSLCertificate.fromPEMBytes(pem).map { .certificate($0) },
            privateKey: .privateKey(try NIOSSLPrivateKey(bytes: pem, format: .pem)))
        let context = try NIOSSLContext(configuration: tls)
        let host = try await ServerBootstrap(group: MultiThreadedEventLoopGroup.singleton)
            .childChannelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandlers(NIOSSLServerHandler(context: context), Refusing())
                }
            }
            .bind(host: "127.0.0.1", port: 0).get()
        let port = try #require(host.localAddress?.port)
        let outbound = try OutboundHTTP(authorityFile: authority.pem, proxy: nil, targets: .all) { _ in
            [Reactor.SocketAddress(literal: "127.0.0.1", port: 443)].compactMap(\.self)
        }
        do throws(TokenEndpointFault) {
            let answer = try await outbound.post(form: [], to: "https://\(asked):\(port)/token")
            #expect(isTrusted && answer.status == 400)
        } catch {
            #expect(!isTrusted && error == .unreachable(NetworkTrouble.certificateOfOtherNames.sentence))
        }
        try await host.close()
    }

    @Test("fails before it reaches the proxy if the operator did not list the host")
    func unlistedHost() async throws {
        let proxy = ProxyAddress(endpoint: Endpoint(host: "127.0.0.1", port: 1))
        let outbound = try OutboundHTTP(authorityFile: nil, proxy: proxy, targets: .listed(["oauth2.googleapis.com"]))
        await #expect(throws: TokenEndpointFault.unlistedHost) {
            try await outbound.post(form: [], to: "https://intranet.example.com/token")
        }
    }
}

/// Answers each request with 400.
private final class Refusing: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        context.channel.writeAndFlush(
            ByteBuffer(string: "HTTP/1.1 400 Bad Request\r\ncontent-length: 0\r\n\r\n"), promise: nil)
    }
}

/// Answers with `100 Continue` as long as the client reads.
private final class Flooding: ChannelInboundHandler, Sendable {
    typealias InboundIn = ByteBuffer
    private static let interim = String(repeating: "HTTP/1.1 100 Continue\r\n\r\n", count: 1_000)

    func channelRead(context: ChannelHandlerContext, data: NIOAny) { Self.flood(context.channel) }

    private static func flood(_ channel: any Channel) {
        channel.writeAndFlush(ByteBuffer(string: interim)).whenSuccess {
            channel.eventLoop.execute { flood(channel) }
        }
    }
}
