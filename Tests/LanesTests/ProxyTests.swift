import Lanes
import Reactor
import Synchronization
import TestSupport
import Testing

/// An HTTP proxy on loopback: reads a CONNECT, answers it, and then carries bytes to the peer.
private final class TestProxy: Sendable {
    let loop: ReactorLoop
    let address: SocketAddress
    private let acceptor: LoopBound<Acceptor?>

    init(to peer: SocketAddress, answer: String) async throws {
        let loop = try ReactorLoop(name: "proxy")
        self.loop = loop
        let received = ReceivedEvents()
        (address, acceptor) = try await run(on: loop) {
            let listening = try ListeningSocket(binding: .init(loopbackPort: 0))
            let acceptor = try Acceptor(listening, on: loop) { socket in
                do { try ProxyConnection(loop, socket, peer, answer, received).start() } catch { socket.close() }
            }
            return (listening.address, LoopBound(acceptor))
        }
        self.received = received
    }

    private let received: ReceivedEvents
    var requests: [String] { received.requests.withLock { $0 } }

    func stop() {
        loop.perform { [acceptor] in acceptor.value?.close() }
        loop.stop()
    }
}

private final class ReceivedEvents: Sendable {
    let requests = Mutex<[String]>([])
}

/// Copies bytes in both directions of one tunnel.
private final class ProxyConnection: ReadinessHandler {
    private let loop: ReactorLoop
    private let client: StreamSocket
    private let peerAddress: SocketAddress
    private let answer: String
    private let received: ReceivedEvents
    private var head: [UInt8] = []
    private var peer: StreamSocket?
    private var toPeer: [UInt8] = []
    private var toClient: [UInt8] = []

    init(
        _ loop: ReactorLoop, _ client: StreamSocket, _ peer: SocketAddress, _ answer: String, _ received: ReceivedEvents
    ) {
        self.loop = loop
        self.client = client
        peerAddress = peer
        self.answer = answer
        self.received = received
    }

    func start() throws { try loop.watch(client.descriptor, .read, self) }

    func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
        do {
            var buffer = [UInt8](repeating: 0, count: 65_536)
            if descriptor == client.descriptor, case .bytes(let count) = try client.read(into: &buffer) {
                if peer == nil { try takeHead(buffer[..<count]) } else { toPeer += buffer[..<count] }
            } else if let peer, descriptor == peer.descriptor, readiness.contains(.readable) {
                guard case .bytes(let count) = try peer.read(into: &buffer) else { return close() }
                toClient += buffer[..<count]
            } else if readiness.contains(.hungUp) {
                return close()
            }
            try push(&toPeer, to: peer)
            try push(&toClient, to: client)
        } catch { close() }
    }

    private func takeHead(_ bytes: ArraySlice<UInt8>) throws {
        head += bytes
        guard head.suffix(4) == [13, 10, 13, 10] else { return }
        received.requests.withLock { $0.append(String(decoding: head, as: UTF8.self)) }
        toClient += answer.utf8
        let peer = try StreamSocket.connect(to: peerAddress)
        self.peer = peer
        try loop.watch(peer.descriptor, [.read, .write], self)
    }

    private func push(_ bytes: inout [UInt8], to socket: StreamSocket?) throws {
        guard let socket, !bytes.isEmpty else { return }
        let remaining = bytes
        do {
            bytes.removeFirst(try socket.write(remaining.span))
        } catch ReactorError.system(_, let failure) where failure.description.contains("not connected") { return }
    }

    private func close() {
        loop.unwatch(client.descriptor)
        client.close()
        if let peer {
            loop.unwatch(peer.descriptor)
            peer.close()
        }
    }
}

@Suite("A lane behind a proxy", .timeLimit(.minutes(5)))
struct LaneProxyTests {
    @Test("tunnels to the provider by name, with the proxy's credentials")
    func through() async throws {
        let peer = try await Peer()
        let proxy = try await TestProxy(to: peer.address, answer: "HTTP/1.1 200 Connection established\r\n\r\n")
        let bench = try Bench([proxy.address]) {
            $0.proxy = ProxySettings(
                host: "proxy.example", port: 3_128, authorization: Array("Basic Y2FyaWxsb24=".utf8))
        }
        bench.submit(0..<100)
        #expect(await bench.sink.answers(100).count(of: .accepted) == 100)
        #expect(
            proxy.requests == [
                "CONNECT push.example:443 HTTP/1.1\r\nHost: push.example:443\r\n"
                    + "Proxy-Authorization: Basic Y2FyaWxsb24=\r\n\r\n"
            ])
        await bench.finish()
        proxy.stop()
        peer.stop()
    }

    @Test("returns its requests if the proxy refuses, and reports the proxy's status")
    func refused() async throws {
        let peer = try await Peer()
        let proxy = try await TestProxy(
            to: peer.address, answer: "HTTP/1.1 407 Proxy Authentication Required\r\nContent-Length: 0\r\n\r\n")
        let bench = try Bench([proxy.address]) { $0.proxy = ProxySettings(host: "proxy.example", port: 3_128) }
        bench.submit(0..<10)
        #expect(await bench.sink.answers(10).count(of: .unsent(.unreachable)) == 10)
        #expect(bench.observer.events.contains(.dialFailed(.unreachable, detail: "proxy answered 407")))
        await bench.finish()
        proxy.stop()
        peer.stop()
    }
}

@Suite("The CONNECT exchange with a proxy")
struct ProxyTunnelTests {
    private func take(_ pieces: [String]) -> ProxyTunnel.Result {
        var tunnel = ProxyTunnel()
        var result = ProxyTunnel.Result.needsMore
        for piece in pieces where result == .needsMore { result = tunnel.take(Array(piece.utf8).span) }
        return result
    }

    @Test("reads the answer piece by piece, and keeps the bytes that follow it")
    func pieces() {
        #expect(take(["HTTP/1.1 200 OK\r\n", "\r\n"]) == .open(remaining: []))
        #expect(take(["HTTP/1.0 200 OK\r\nVia: x\r\n\r", "\nrest"]) == .open(remaining: Array("rest".utf8)))
        #expect(take(["HTTP/1.1 200 OK\r\n"]) == .needsMore)
    }

    @Test("reports a refusal, and an answer that is not HTTP")
    func refusals() {
        #expect(take(["HTTP/1.1 403 Forbidden\r\n\r\n"]) == .refused(status: 403))
        #expect(take(["SSH-2.0\r\n\r\n"]) == .refused(status: nil))
        #expect(take(["HTTP/1.1 2x0 OK\r\n\r\n"]) == .refused(status: nil))
        #expect(take(["HTTP/1.1\r\n\r\n"]) == .refused(status: nil))
        #expect(take([String(repeating: "a", count: 20_000)]) == .refused(status: nil))
    }

    @Test("writes IPv6 literals in brackets")
    func ipv6() {
        let request = String(decoding: ProxyTunnel.request(host: "::1", port: 443, authorization: nil), as: UTF8.self)
        #expect(request == "CONNECT [::1]:443 HTTP/1.1\r\nHost: [::1]:443\r\n\r\n")
    }
}
