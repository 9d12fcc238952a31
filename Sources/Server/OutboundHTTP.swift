import AsyncHTTPClient
import Basis
import CommandLine
import Credentials
import Foundation
import NIOCore
import NIOPosix
import NIOSSL
import ProviderInterface
import Reactor

/// HTTP calls for access tokens. They are rare, so each has a client of its own and keeps nothing open.
///
/// Tenants name the hosts. So calls have an event loop and threads for name resolution of their own, and no host can
/// slow the API or the lanes.
package struct OutboundHTTP: TokenEndpoint {
    let authorities: [NIOSSLCertificate]
    let proxy: ProxyAddress?
    /// Service accounts name the URL: a person who may hand in one must not reach our internal network with it.
    let targets: TargetHosts

    private static let bodyBytesMax = AccessTokenAnswer.bodyBytesMax
    /// A limit on all that a host sends, TLS records and interim answers included. A token answer has 2 KB; a
    /// certificate chain, which comes before it, is not counted.
    private static let receivedBytesMax = bodyBytesMax + 65_536
    private static let deadline: Duration = .seconds(20)
    private static let connectDeadline: Duration = .seconds(10)
    private static let eventLoop = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private static let resolver = BlockingPool(name: "token hosts", threadsMax: 8, waitingMax: 1_024)

    package init(authorityFile: [UInt8]?, proxy: ProxyAddress?, targets: TargetHosts) throws {
        authorities = try authorityFile.map { try NIOSSLCertificate.fromPEMBytes($0) } ?? []
        (self.proxy, self.targets) = (proxy, targets)
    }

    package func post(form: [UInt8], to url: String) async throws(TokenEndpointFault) -> TokenEndpointAnswer {
        guard let parts = URL(string: url), let host = parts.host(percentEncoded: false), !host.isEmpty,
            parts.scheme == "https" || (parts.scheme == "http" && targets == .all)
        else { throw .malformedURL }
        var configuration = HTTPClient.Configuration()
        try await bind(&configuration, to: host)
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        request.headers.add(name: "accept", value: "application/json")
        request.body = .bytes(ByteBuffer(bytes: form))
        let client = HTTPClient(eventLoopGroupProvider: .shared(Self.eventLoop), configuration: configuration)
        let whole = request
        let result = await Result(of: { try await Self.within(Self.deadline) { try await Self.ask(client, whole) } })
        // A client that is not shut down keeps its sockets.
        try? await client.shutdown()
        do { return try result.get() } catch { throw .unreachable(Self.text(error)) }
    }

    private static func ask(_ client: HTTPClient, _ request: HTTPClientRequest) async throws -> TokenEndpointAnswer {
        let response = try await client.execute(request, timeout: .nanoseconds(deadline.wholeNanoseconds))
        let body = try await response.body.collect(upTo: bodyBytesMax)
        return TokenEndpointAnswer(
            status: Int(response.status.code), body: Array(body.readableBytesView),
            retryAfter: Array((response.headers.first(name: "retry-after") ?? "").utf8))
    }

    /// The client's own deadline ends with the response's head. A body that trickles would block the account for days.
    private static func within<Answer: Sendable>(
        _ time: Duration, _ work: @escaping @Sendable () async throws -> Answer
    ) async throws -> Answer {
        try await withThrowingTaskGroup(of: Answer?.self) { group in
            group.addTask { try await work() }
            group.addTask {
                try await Task.sleep(for: time)
                return nil
            }
            defer { group.cancelAll() }
            guard let first = try await group.next(), let answer = first else { throw TooSlow() }
            return answer
        }
    }

    private struct TooSlow: Error {}

    /// A library's own error text holds paths of its sources.
    private static func text(_ error: any Error) -> String {
        switch error {
        case is TooSlow: NetworkTrouble.timedOut.sentence
        case is ReceivedBytesLimit.Exceeded: "it sent more than \(receivedBytesMax) bytes"
        default: NetworkTrouble(error).sentence
        }
    }

    /// Resolves the name once and binds the client to that address: a second answer could lead elsewhere.
    private func bind(_ configuration: inout HTTPClient.Configuration, to host: String) async throws(TokenEndpointFault)
    {
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = .nanoseconds(Self.connectDeadline.wholeNanoseconds)
        configuration.httpVersion = .http1Only
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.eventLoop.submit {
                let limit = ReceivedBytesLimit(bytesMax: Self.receivedBytesMax)
                try channel.pipeline.syncOperations.addHandler(limit, position: .first)
            }
        }
        var tls = TLSConfiguration.makeClientConfiguration()
        if !authorities.isEmpty { tls.additionalTrustRoots = [.certificates(authorities)] }
        configuration.tlsConfiguration = tls
        if let proxy {
            guard targets.allows(host) else { throw .unlistedHost }
            configuration.proxy = proxy.forHTTPClient
            return
        }
        let addresses: [Reactor.SocketAddress]
        do { addresses = try await NameResolver.resolve(host: host, port: 443, on: Self.resolver) } catch {
            throw .unreachable("the name \(host) is not resolved")
        }
        guard let address = addresses.first(where: { targets == .all || $0.isPublic }) else {
            throw addresses.isEmpty ? .unreachable("the name \(host) has no address") : .privateTarget
        }
        configuration.dnsOverride = [host: address.hostText]
    }
}

/// Fails a connection that receives too much. The library reads interim answers (100 Continue) without end.
private final class ReceivedBytesLimit: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias InboundOut = ByteBuffer

    struct Exceeded: Error {}

    private var bytesLeft: Int

    init(bytesMax: Int) { bytesLeft = bytesMax }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        // Bytes that were under way when the connection was closed are dropped.
        guard bytesLeft >= 0 else { return }
        bytesLeft -= unwrapInboundIn(data).readableBytes
        guard bytesLeft < 0 else {
            context.fireChannelRead(data)
            return
        }
        context.fireErrorCaught(Exceeded())
        context.close(promise: nil)
    }
}

extension ProxyAddress {
    var forHTTPClient: HTTPClient.Configuration.Proxy {
        let basic = Array("Basic ".utf8)
        guard let authorization = authorization?.revealed, authorization.starts(with: basic) else {
            return .server(host: endpoint.host, port: Int(endpoint.port))
        }
        let credentials = String(decoding: authorization.dropFirst(basic.count), as: UTF8.self)
        return .server(host: endpoint.host, port: Int(endpoint.port), authorization: .basic(credentials: credentials))
    }
}
