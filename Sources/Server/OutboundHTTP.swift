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
    /// Time is left for a second address if the first one leads nowhere.
    private static let connectDeadline: Duration = .seconds(5)
    /// A tenant's host can have any number of addresses.
    private static let addressesMax = 4
    private static let eventLoop = MultiThreadedEventLoopGroup(numberOfThreads: 1)
    private static let resolver = BlockingPool(name: "token hosts", threadsMax: 8, waitingMax: 1_024)

    /// Looks a name up.
    package typealias Resolve = @Sendable (_ host: String) async throws(ReactorError) -> [Reactor.SocketAddress]
    let resolve: Resolve

    package init(
        authorityFile: [UInt8]?, proxy: ProxyAddress?, targets: TargetHosts,
        resolve: @escaping Resolve = { host async throws(ReactorError) in
            try await NameResolver.resolve(host: host, port: 443, on: OutboundHTTP.resolver)
        }
    ) throws {
        authorities = try authorityFile.map { try NIOSSLCertificate.fromPEMBytes($0) } ?? []
        (self.proxy, self.targets, self.resolve) = (proxy, targets, resolve)
    }

    package func post(form: [UInt8], to url: String) async throws(TokenEndpointFault) -> TokenEndpointAnswer {
        guard let parts = URL(string: url), let host = parts.host(percentEncoded: false), !host.isEmpty,
            parts.scheme == "https" || (parts.scheme == "http" && targets == .all)
        else { throw .malformedURL }
        var request = HTTPClientRequest(url: url)
        request.method = .POST
        request.headers.add(name: "content-type", value: "application/x-www-form-urlencoded")
        request.headers.add(name: "accept", value: "application/json")
        request.body = .bytes(ByteBuffer(bytes: form))
        let (whole, isEncrypted) = (request, parts.scheme == "https")
        let configurations = try await configurations(for: host, isEncrypted: isEncrypted)
        do { return try await Self.within(Self.deadline) { try await Self.ask(configurations, whole) } } catch {
            throw .unreachable(Self.text(error))
        }
    }

    /// Asks the host's addresses in turn, until one of them answers: a machine may have no route to the first one.
    private static func ask(
        _ configurations: [HTTPClient.Configuration], _ request: HTTPClientRequest
    ) async throws -> TokenEndpointAnswer {
        var refusal: any Error = TooSlow()
        for configuration in configurations {
            let client = HTTPClient(eventLoopGroupProvider: .shared(eventLoop), configuration: configuration)
            let result = await Result(of: { try await ask(client, request) })
            // A client that is not shut down keeps its sockets.
            try? await client.shutdown()
            switch result {
            case .success(let answer): return answer
            case .failure(let error):
                guard !(error is ReceivedBytesLimit.Exceeded), !Task.isCancelled else { throw error }
                refusal = error
            }
        }
        throw refusal
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

    /// Resolves the name once and binds a client to each of its addresses: a second answer could lead elsewhere. A call
    /// through the proxy has one client, and the proxy resolves the name.
    private func configurations(
        for host: String, isEncrypted: Bool
    ) async throws(TokenEndpointFault) -> [HTTPClient.Configuration] {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.timeout.connect = .nanoseconds(Self.connectDeadline.wholeNanoseconds)
        configuration.httpVersion = .http1Only
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.http1_1ConnectionDebugInitializer = { channel in
            channel.prepared { pipeline in
                try pipeline.addHandler(ReceivedBytesLimit(bytesMax: Self.receivedBytesMax), position: .first)
                if isEncrypted { try pipeline.requireCertificate(for: host) }
            }
        }
        var tls = TLSConfiguration.makeClientConfiguration()
        if !authorities.isEmpty { tls.additionalTrustRoots = [.certificates(authorities)] }
        configuration.tlsConfiguration = tls
        if let proxy {
            guard targets.allows(host) else { throw .unlistedHost }
            configuration.proxy = proxy.forHTTPClient
            return [configuration]
        }
        let addresses: [Reactor.SocketAddress]
        do { addresses = try await resolve(host) } catch { throw .unreachable("the name \(host) is not resolved") }
        let allowed = addresses.filter { targets == .all || $0.isPublic }
        guard !allowed.isEmpty else {
            throw addresses.isEmpty ? .unreachable("the name \(host) has no address") : .privateTarget
        }
        return allowed.prefix(Self.addressesMax).map { address in
            var bound = configuration
            bound.dnsOverride = [host: address.hostText]
            return bound
        }
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
