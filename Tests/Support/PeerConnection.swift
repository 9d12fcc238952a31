import HTTP2
import Reactor
import TLS

/// A connection of a `Peer`. The loop keeps it while its socket is watched.
final class PeerConnection: ReadinessHandler {
    private let socket: StreamSocket
    private let loop: ReactorLoop
    private let script: PeerScript
    private let log: PeerLog
    private let number: Int
    private var tls: TLSSession?
    private var session: HTTP2ServerSession?
    private var unsent: [UInt8] = []
    private var requests = 0
    private var isStalled = false
    /// Requests in one packet with the last stream of the GOAWAY stay unanswered, as with real servers.
    private var lastStreamID = Int32.max
    private var isClosed = false
    private static let lastingPing: UInt64 = 8
    private var afterPing: (acts: [PeerAct], streamID: Int32) = ([], 0)

    init(_ socket: StreamSocket, _ loop: ReactorLoop, _ script: PeerScript, _ context: TLSContext, _ log: PeerLog) {
        self.socket = socket
        self.loop = loop
        self.script = script
        self.log = log
        number = log.accepted()
        tls = try? TLSSession(context)
        if let greeting = script.greeting { unsent = greeting }
        do { try loop.watch(socket.descriptor, [.read, .write], self) } catch { close() }
    }

    func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
        if script.isMute || isStalled { return quieten() }
        do {
            if readiness.contains(.readable) { try readArrived() }
            try flush()
        } catch { close() }
    }

    /// Level-triggered readiness without a read would make the loop spin.
    private func quieten() { try? loop.rewatch(socket.descriptor, []) }

    private func readArrived() throws {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        var plaintext = buffer
        while !isClosed && !isStalled {
            let count: Int
            switch try socket.read(into: &buffer) {
            case .bytes(let read): count = read
            case .wouldBlock: return
            case .ended: return close()
            }
            if script.greeting != nil { continue }
            try tls?.feed(buffer.span.extracting(0..<count))
            if tls?.state == .open && session == nil { try begin() }
            while let tls, case .bytes(let count) = try tls.read(into: &plaintext) {
                try session?.receive(plaintext.span.extracting(0..<count))
                try answer()
            }
            if tls?.state == .ended { close() }
        }
    }

    private func begin() throws {
        session = try HTTP2ServerSession(script.settings)
        log.secured(topic: tls?.peerCertificate?.userID)
        for act in script.onOpen(number) { try perform(act, streamID: 0) }
    }

    private func answer() throws {
        while let session, let event = session.nextEvent() {
            switch event {
            case .request(let request):
                if request.streamID > lastStreamID { continue }
                requests += 1
                func text(_ name: StaticString) -> String {
                    session.value(of: name, in: request).map { String(decoding: session.bytes($0), as: UTF8.self) }
                        ?? ""
                }
                let seen = PeerRequest(
                    connection: number, number: requests, streamID: request.streamID, path: text(":path"),
                    openStreams: session.openStreams, authorization: text("authorization"),
                    id: text("apns-id"), body: session.bytes(request.body))
                log.received(seen)
                for act in script.onRequest(seen) { try perform(act, streamID: request.streamID) }
            case .goAway: log.sentGoAway()
            case .pingAnswered(Self.lastingPing):
                let (acts, streamID) = afterPing
                afterPing = ([], 0)
                for act in acts { try perform(act, streamID: streamID) }
            default: break
            }
        }
    }

    private func perform(_ act: PeerAct, streamID: Int32) throws {
        guard let session, !isClosed else { return }
        switch act {
        case .respond(let status, let body, let retryAfter, let id):
            var headers = HeaderList()
            headers.append(":status", String(status))
            if let retryAfter { headers.append("retry-after", retryAfter) }
            if let id { headers.append("apns-id", Array(id.utf8), isIndexed: false) }
            try session.submitResponse(streamID, headers, body: body.span)
        case .respondWithHeader(let bytes):
            var headers = HeaderList()
            headers.append(":status", "400")
            headers.append("x-huge", [UInt8](repeating: UInt8(ascii: "h"), count: bytes), isIndexed: false)
            try session.submitResponse(streamID, headers, body: Span())
        case .reset(let code): try session.reset(streamID, code)
        case .goAway(let last, let debug):
            lastStreamID = last ?? streamID
            try session.submitGoAway(lastStreamID: lastStreamID, .noError, debug: Array(debug.utf8))
        case .shutdownNotice: try session.submitShutdownNotice()
        case .settings(let streamsMax): try session.submitSettings([.streamsMax(streamsMax)])
        case .ping: try session.submitPing(7)
        case .afterPing(let acts):
            afterPing = (acts, streamID)
            try session.submitPing(Self.lastingPing)
        case .raw(let bytes):
            try flush()
            try tls?.write(bytes.span)
        case .cut:
            try flush()
            close()
        case .stall:
            try flush()
            isStalled = true
        }
    }

    private func flush() throws {
        if isClosed { return }
        if let session, let tls, tls.state == .open {
            var frames: [UInt8] = []
            while session.wantsWrite {
                frames.removeAll()
                try session.takeOutput(into: &frames, atMost: 65_536)
                if frames.isEmpty { break }
                try tls.write(frames.span)
            }
        }
        tls?.takeCiphertext(into: &unsent)
        while !unsent.isEmpty {
            let remaining = unsent
            let count = try socket.write(remaining.span)
            if count == 0 { break }
            unsent.removeFirst(count)
        }
        if isStalled { return quieten() }
        try loop.rewatch(socket.descriptor, unsent.isEmpty ? .read : [.read, .write])
        if session?.isFinished == true && unsent.isEmpty { close() }
    }

    private func close() {
        if isClosed { return }
        isClosed = true
        loop.unwatch(socket.descriptor)
        socket.close()
        log.closed()
    }
}
