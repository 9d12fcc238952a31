import Basis
import HTTP2
import Reactor
import TLS

/// One client of the stand-in: socket, TLS, and HTTP/2 or HTTP/1.1. On the loop's thread only.
final class SimulatorConnection: ReadinessHandler, TimerHandler {
    /// From 1, in the order of arrival.
    let number: Int
    let world: SimulatorWorld
    private let socket: StreamSocket
    private let tls: TLSSession
    private let whenClosed: (SimulatorConnection) -> Void
    private(set) var isOpen = true
    /// Our last bytes are sent and the write side is shut down. Bytes that still arrive are ignored until the client
    /// closes.
    private(set) var isLingering = false
    /// The session of the client's protocol, once it is known: this one or `http1`.
    private(set) var session: HTTP2ServerSession?
    private(set) var http1: HTTP1Session?
    /// The first bytes of a client without ALPN, until they show its protocol.
    private var firstBytes: [UInt8] = []
    private(set) var providerSession: (any ProviderSession)?

    /// Whether the client has asked the stand-in's own endpoints, or the provider's.
    var hasAsked = (ownEndpoint: false, provider: false)
    /// The script's fault of the connection's opening had its chance.
    var isOpened = false

    var requestCounts = Array(repeating: 0, count: ScriptedEndpoint.allCases.count)
    var scriptNumber = 0
    /// After a GOAWAY, the highest stream that is processed.
    var lastStreamID = Int32.max
    var closing = ScriptedGoAway.Closing.never
    var pendingGoAway: ScriptedGoAway?
    /// The client is neither read from nor answered any more, once earlier answers are sent.
    var willStall = false
    private(set) var isStalled = false
    var delayed: [UInt64: [DelayedAnswer]] = [:]
    var delayedDue: (instant: MonotonicInstant, tag: UInt64)?
    var timerTag: UInt64 = 0
    /// The delay of the request at hand, in addition to the script's.
    var extraDelay: Duration = .zero

    /// TLS and HTTP/2 are agreed: the client acknowledged our SETTINGS, or sent a request.
    var isAgreed = false
    /// The time of the last frame that counts as activity.
    var lastReceived: MonotonicInstant
    var silenceTimer: TimerID?
    /// A request over HTTP/1.1 has begun, and its deadline runs.
    var isMidway = false

    /// Plaintext sent past the session: bytes that no session would send.
    var oddBytes: [UInt8] = []
    /// Ciphertext that the socket has not taken yet.
    private var outgoing: [UInt8] = []
    private var outgoingStart = 0
    private var interest: Interest = .read

    /// Many frames in one TLS write, many records in one `send`.
    private static let gatherBytes = 131_072
    /// A client that doesn't read is not read from either.
    private static let outgoingBytesMax = 1 << 20
    /// After so many reads, other connections are served.
    private static let readsPerTickMax = 4

    init(
        _ number: Int, _ socket: StreamSocket, _ tls: TLSSession, _ world: SimulatorWorld,
        whenClosed: @escaping (SimulatorConnection) -> Void
    ) throws(ReactorError) {
        (self.number, self.socket, self.tls, self.world, self.whenClosed) = (number, socket, tls, world, whenClosed)
        scriptNumber = world.scriptNumber
        lastReceived = world.loop.now
        try world.loop.watch(socket.descriptor, .read, self)
        awaitHandshake()
    }

    func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
        guard isOpen else { return }
        if readiness.contains(.failed) { return close() }
        if readiness.contains(.readable) || readiness.contains(.hungUp) { read() }
        flush()
    }

    private func read() {
        for _ in 0..<SimulatorConnection.readsPerTickMax where isOpen && !isStalled {
            switch Result(catching: { () throws(ReactorError) in try socket.read(into: &world.scratch.incoming) }) {
            case .success(.bytes) where isLingering: continue
            case .success(.bytes(let count)):
                let bytes = world.scratch.incoming
                take(bytes.span.extracting(0..<count))
                if count < ScratchBuffers.bytes { return }
            case .success(.wouldBlock): return
            case .success(.ended), .failure: return close()
            }
        }
    }

    private func take(_ ciphertext: Span<UInt8>) {
        do {
            let wasOpen = tls.state == .open
            try tls.feed(ciphertext)
            if !wasOpen && tls.state == .open { try handshakeEnded() }
            while isOpen, case .bytes(let count) = try tls.read(into: &world.scratch.plaintext) {
                let bytes = world.scratch.plaintext
                try receive(bytes.span.extracting(0..<count))
            }
            if tls.state == .ended { close() }
        } catch {
            // Not TLS, no HTTP/2, or a client that refuses us: a waiting alert or GOAWAY is still sent.
            if session == nil && http1 == nil { world.summary.handshakesFailed += 1 }
            flush()
            close()
        }
    }

    private func handshakeEnded() throws(HTTP2Fault) {
        let providerSession = world.service.welcome(self, tls.peerCertificate)
        self.providerSession = providerSession
        switch tls.alpn {
        case "h2": try serveHTTP2(providerSession)
        case .some: serveHTTP1()
        // Prior knowledge of either protocol: the first bytes decide.
        case nil: break
        }
    }

    private func serveHTTP2(_ providerSession: any ProviderSession) throws(HTTP2Fault) {
        session = try HTTP2ServerSession(providerSession.http2Settings)
        if let reason = providerSession.refusal { sayGoAway(ScriptedGoAway(reason: reason), lastStreamID: 0) }
    }

    private func serveHTTP1() { http1 = HTTP1Session(bodyBytesMax: world.settings.bodyBytesMax) }

    private func receive(_ plaintext: Span<UInt8>) throws(HTTP2Fault) {
        if session == nil, http1 == nil, let providerSession {
            for index in plaintext.indices { firstBytes.append(plaintext[index]) }
            // "PRI * HTTP/2.0" begins like no common method of HTTP/1.1.
            guard firstBytes.count >= 3 else { return }
            if firstBytes.starts(with: "PRI".utf8) { try serveHTTP2(providerSession) } else { serveHTTP1() }
            let bytes = firstBytes
            firstBytes = []
            return try readMore(bytes.span)
        }
        try readMore(plaintext)
    }

    private func readMore(_ plaintext: Span<UInt8>) throws(HTTP2Fault) {
        if let http1 {
            http1.receive(plaintext)
            boundRequest(http1)
        }
        try session?.receive(plaintext)
        // Half a frame, or one that needs no answer, is no activity. A PING is, since we answer it.
        if session?.wantsWrite == true { lastReceived = world.loop.now }
        drainEvents()
        if world.settings.record != nil { world.flushRecord() }
    }

    func flush() {
        guard isOpen, !isLingering else { return }
        do {
            repeat {
                try gather()
                try writeOut()
            } while outgoing.isEmpty && wantsWrite && !isStalled
            try updateInterest()
        } catch { return close() }
        if outgoing.isEmpty, hasSentGoAway { linger() }
    }

    private func gather() throws {
        if session != nil || http1 != nil, !isStalled || !oddBytes.isEmpty,
            outgoing.count < SimulatorConnection.outgoingBytesMax
        {
            world.scratch.outgoing.removeAll(keepingCapacity: true)
            if !isStalled {
                http1?.takeOutput(into: &world.scratch.outgoing)
                try session?.takeOutput(into: &world.scratch.outgoing, atMost: SimulatorConnection.gatherBytes)
                drainEvents()
                isStalled = willStall && !wantsWrite
            }
            world.scratch.outgoing.append(contentsOf: oddBytes)
            oddBytes.removeAll()
            let bytes = world.scratch.outgoing
            if tls.state == .open { try tls.write(bytes.span) }
        }
        tls.takeCiphertext(into: &outgoing)
    }

    private func writeOut() throws(ReactorError) {
        do {
            let bytes = outgoing
            while outgoingStart < bytes.count {
                let count = try socket.write(bytes.span.extracting(outgoingStart..<bytes.count))
                if count == 0 { return }
                outgoingStart += count
            }
        }
        outgoing.removeAll(keepingCapacity: true)
        outgoingStart = 0
    }

    private func updateInterest() throws(ReactorError) {
        var wanted: Interest = []
        if !isStalled && outgoing.count - outgoingStart < SimulatorConnection.outgoingBytesMax { wanted.insert(.read) }
        if !outgoing.isEmpty { wanted.insert(.write) }
        guard isOpen, wanted != interest else { return }
        interest = wanted
        try world.loop.rewatch(socket.descriptor, wanted)
    }

    private var wantsWrite: Bool { session?.wantsWrite ?? http1?.wantsWrite ?? false }

    private var hasSentGoAway: Bool {
        if let http1, http1.isFinished { return true }
        return switch closing {
        // Our own GOAWAY after a protocol error, not one of the script.
        case .never: lastStreamID == .max && session?.goAwaySent.map { $0 != .noError } ?? false
        case .whenAnswered: (session?.openStreams ?? http1?.openStreams) == 0 && !wantsWrite
        case .atOnce: !wantsWrite
        }
    }

    /// Closing a socket with unread bytes sends a reset, which would discard our last answers at the client.
    private func linger() {
        isLingering = true
        delayed.removeAll()
        sendCloseNotify()
        socket.shutdownWriting()
        _ = world.loop.schedule(at: world.loop.now + SimulatorConnection.lingerMax, tag: Self.lingerTag, self)
    }

    /// A client that doesn't close in this time is closed.
    private static let lingerMax: Duration = .seconds(2)

    private func sendCloseNotify() {
        guard outgoing.isEmpty, tls.state == .open else { return }
        tls.close()
        tls.takeCiphertext(into: &outgoing)
        // Best effort: if the socket takes no close_notify, it is closed without.
        try? writeOut()
    }

    /// - Parameter isAbrupt: with a TCP reset.
    func close(isAbrupt: Bool = false) {
        guard isOpen else { return }
        isOpen = false
        delayed.removeAll()
        if let silenceTimer { world.loop.cancel(silenceTimer) }
        world.loop.unwatch(socket.descriptor)
        if isAbrupt {
            socket.resetOnClose()
        } else if !isLingering {
            sendCloseNotify()
        }
        socket.close()
        whenClosed(self)
    }
}
