import Basis
import HTTP2
import Reactor
import Synchronization
import TLS

/// An action of a peer after a request, or when a connection opens.
package enum PeerAct: Sendable {
    /// - Parameter id: the value of `apns-id`.
    case respond(status: Int, body: [UInt8] = [], retryAfter: String? = nil, id: String? = nil)
    case respondWithHeader(bytes: Int)
    case reset(HTTP2ErrorCode)
    /// Sends GOAWAY with the last stream that the peer will answer; nil: the last one received.
    case goAway(last: Int32?, debug: String)
    case shutdownNotice
    case settings(streamsMax: UInt32)
    case ping
    /// Acts after the client has answered a PING, and so has read everything before it.
    indirect case afterPing([PeerAct])
    /// Sends bytes instead of frames, inside TLS.
    case raw([UInt8])
    /// Cuts the connection.
    case cut
    /// Stops sending and reading, and leaves the socket open.
    case stall
}

package struct PeerRequest: Sendable {
    /// The number of the peer's connection, from 1.
    package let connection: Int
    /// The number of the request on that connection, from 1.
    package let number: Int
    package let streamID: Int32
    package let path: String
    /// The number of open streams on the connection, including this one.
    package let openStreams: Int
    package let authorization: String
    package let id: String
    package let body: [UInt8]
}

package struct PeerScript: Sendable {
    package var settings = HTTP2ServerSettings()
    package var onOpen: @Sendable (_ connection: Int) -> [PeerAct] = { _ in [] }
    package var onRequest: @Sendable (PeerRequest) -> [PeerAct] = { _ in [.respond(status: 200)] }
    /// Bytes to write to the socket instead of TLS.
    package var greeting: [UInt8]?
    /// The peer accepts connections and never sends a byte.
    package var isMute = false
    package var clientCertificates = TLSContext.ClientCertificates.ignored

    package init() {}
}

/// A provider on loopback that does what a script says: real sockets, TLS and HTTP/2.
package final class Peer: Sendable {
    package let loop: ReactorLoop
    package let address: SocketAddress
    package let log = PeerLog()
    private let acceptor: LoopBound<Acceptor?>
    package let world: PeerWorld

    package init(
        _ script: PeerScript = PeerScript(), world: PeerWorld = .shared,
        on address: SocketAddress = .init(loopbackPort: 0)
    ) async throws {
        let loop = try ReactorLoop(name: "peer")
        let log = self.log
        let context = try TLSContext.server(
            identity: world.server.get(), clientCertificates: script.clientCertificates)
        let (bound, acceptor) = try await run(on: loop) { () -> (SocketAddress, LoopBound<Acceptor?>) in
            let socket = try ListeningSocket(binding: address)
            let acceptor = try Acceptor(socket, on: loop) { accepted in
                _ = PeerConnection(accepted, loop, script, context, log)
            }
            return (socket.address, LoopBound(acceptor))
        }
        self.loop = loop
        self.world = world
        self.address = bound
        self.acceptor = acceptor
    }

    package var port: UInt16 { address.port }

    /// Closes the port and every connection.
    package func stop() {
        loop.perform { [acceptor] in acceptor.value?.close() }
        loop.stop()
    }
}

/// The certificates of the tests, made once because keys take time.
package final class PeerWorld: Sendable {
    package static let shared = PeerWorld()
    package let authority: Result<CertificateAuthority, any Error>
    package let server: Result<TLSIdentity, any Error>

    package init() {
        let from = WallInstant(secondsSince1970: 1_700_000_000)
        let century = CertificateValidity(from: from, until: from + .seconds(100 * 365 * 86_400))
        let authority = Result { try CertificateAuthority(validity: century) }
        self.authority = authority
        server = Result {
            try authority.get().issue(
                CertificateSubject(commonName: "push.example"), names: ["push.example"], validity: century)
        }
    }

    package func client(_ topic: String) throws -> TLSIdentity {
        let from = WallInstant(secondsSince1970: 1_700_000_000)
        return try authority.get().issue(
            CertificateSubject(commonName: "Apple Push Services: \(topic)", userID: topic),
            validity: CertificateValidity(from: from, until: from + .seconds(100 * 365 * 86_400)))
    }

    package func trust() throws -> TLSTrust { try .only(pem: authority.get().pem) }
}

/// A record of what a peer has received.
package final class PeerLog: Sendable {
    private struct State {
        var connections = 0
        var open = 0
        var mostOpen = 0
        var requests: [Int: Int] = [:]
        var paths: [String] = []
        var authorizations: [String] = []
        var topics: [String?] = []
        var goAways = 0
        var waiters: [(condition: @Sendable (Int, Int) -> Bool, continuation: CheckedContinuation<Void, Never>)] = []
    }
    private let state = Mutex(State())

    package var connections: Int { state.withLock { $0.connections } }
    package var openConnections: Int { state.withLock { $0.open } }
    /// The largest number of connections that were open at once.
    package var mostOpenConnections: Int { state.withLock { $0.mostOpen } }
    /// Returns the number of requests on a connection; connections count from 1.
    package func requests(on connection: Int) -> Int { state.withLock { $0.requests[connection, default: 0] } }
    package var paths: [String] { state.withLock { $0.paths } }
    package var authorizations: [String] { state.withLock { $0.authorizations } }
    /// The user id of each connection's client certificate.
    package var topics: [String?] { state.withLock { $0.topics } }
    package var goAways: Int { state.withLock { $0.goAways } }

    package func accepted() -> Int {
        change {
            $0.connections += 1
            $0.open += 1
            $0.mostOpen = max($0.mostOpen, $0.open)
        }
        return connections
    }
    package func closed() { change { $0.open -= 1 } }
    package func secured(topic: String?) { change { $0.topics.append(topic) } }
    package func sentGoAway() { change { $0.goAways += 1 } }
    package func received(_ request: PeerRequest) {
        change {
            $0.requests[request.connection, default: 0] += 1
            $0.paths.append(request.path)
            $0.authorizations.append(request.authorization)
        }
    }

    private func change(_ body: (inout State) -> Void) {
        let ready = state.withLock { state in
            body(&state)
            let ready = state.waiters.filter { $0.condition(state.connections, state.open) }
            state.waiters.removeAll { $0.condition(state.connections, state.open) }
            return ready
        }
        for waiter in ready { waiter.continuation.resume() }
    }

    /// Waits until the numbers of connections so far and of open ones meet the condition.
    package func wait(until condition: @escaping @Sendable (_ connections: Int, _ open: Int) -> Bool) async {
        await withCheckedContinuation { continuation in
            let isReady = state.withLock { state in
                if condition(state.connections, state.open) { return true }
                state.waiters.append((condition, continuation))
                return false
            }
            if isReady { continuation.resume() }
        }
    }
}

/// Carries a value of one loop between closures that all run on that loop, which justifies `@unchecked`.
package struct LoopBound<Value>: @unchecked Sendable {
    package let value: Value
    package init(_ value: Value) { self.value = value }
}

/// Runs work on the loop and returns its value.
package func run<Value: Sendable>(
    on loop: ReactorLoop, _ work: @escaping @Sendable () throws -> Value
) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
        loop.perform { continuation.resume(with: Result(catching: work)) }
    }
}
