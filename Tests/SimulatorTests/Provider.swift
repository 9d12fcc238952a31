import Basis
import Encodings
import Glibc
import HTTP2
import Reactor
import Signing
import Simulator
import TLS

/// A provider that speaks to a simulator over a real socket, TLS and HTTP/2, and waits on the test's own thread.
final class Provider {
    let tls: TLSSession
    let session: HTTP2ClientSession
    private let socket: StreamSocket
    /// The simulator ends with its last reference.
    private let standIn: any Actor
    private(set) var answers: [UInt64: Answer] = [:]
    private(set) var goAways: [(last: Int32, reason: String)] = []
    private(set) var isClosed = false
    private(set) var streamLimits: [Int] = []
    private var nextTag: UInt64 = 1
    /// All plaintext from the simulator.
    private(set) var received: [UInt8] = []

    struct Answer: Equatable {
        let conclusion: HTTP2Answer.Conclusion
        let status: Int
        let apnsID: String
        let body: String
        let retryAfter: String
    }

    /// The timeout is generous, but a failing test ends.
    static let timeout: Duration = .seconds(20)

    /// - Parameter first: sent at once with tag 1, before the simulator's SETTINGS have come.
    init(
        _ standIn: any Actor, port: UInt16, trust: [UInt8], identity: TLSIdentity? = nil, alpn: [String] = ["h2"],
        limitAtStart: Int = 1, serverName: String = "api.push.apple.com", first: Push? = nil
    ) throws {
        self.standIn = standIn
        socket = try StreamSocket.connect(to: SocketAddress(loopbackPort: port))
        let context = try TLSContext.client(trust: .only(pem: trust), alpn: alpn, identity: identity)
        tls = try TLSSession(context, serverName: serverName)
        var settings = HTTP2ClientSettings()
        settings.keepsHeadersOfSuccess = true
        settings.streamLimitAtStart = limitAtStart
        session = try HTTP2ClientSession(settings)
        try tls.advance()
        if let first {
            try session.submitRequest(first.headers, body: first.body.span, tag: nextTag)
            nextTag += 1
        }
        try pump(until: { self.tls.state == .open && !self.streamLimits.isEmpty })
    }

    /// Sends and does not wait; the tag is for `answer(to:)`.
    @discardableResult
    func send(_ push: Push) throws -> UInt64 { try send(push.headers, body: push.body) }

    @discardableResult
    func send(_ headers: HeaderList, body: [UInt8]) throws -> UInt64 {
        let tag = nextTag
        nextTag += 1
        try pump(until: { self.session.mayOpen })
        try session.submitRequest(headers, body: body.span, tag: tag)
        try writeOut()
        return tag
    }

    func answer(to tag: UInt64) throws -> Answer {
        try pump(until: { self.answers[tag] != nil })
        return answers[tag] ?? Answer(conclusion: .unsent, status: 0, apnsID: "", body: "", retryAfter: "")
    }

    func ask(_ push: Push) throws -> Answer { try answer(to: send(push)) }

    func get(_ path: String) throws -> Answer { try ask(Push(method: "GET", path: path)) }

    func waitForGoAway() throws { try pump(until: { !self.goAways.isEmpty || self.isClosed }) }
    func waitForClose() throws { try pump(until: { self.isClosed }) }
    func waitForLimit(_ limit: Int) throws { try pump(until: { self.streamLimits.last == limit }) }

    /// Writes raw bytes without TLS.
    func writeRaw(_ bytes: [UInt8]) { _ = try? socket.write(bytes.span) }

    /// Reads and writes until the condition holds, the connection ends, or the timeout passes.
    private func pump(until isDone: () -> Bool) throws {
        let deadline = Clocks.monotonicNow() + Provider.timeout
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            try writeOut()
            // The peer's bytes were no HTTP/2: nothing more will come of it.
            if session.isFinished && session.openStreams > 0 { end() }
            if isDone() || isClosed { return }
            guard Clocks.monotonicNow() < deadline else { throw TimedOut() }
            var event = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&event, 1, 100) > 0 else { continue }
            do {
                guard case .bytes(let count) = try socket.read(into: &buffer) else {
                    end()
                    continue
                }
                try tls.feed(buffer.span.extracting(0..<count))
                while case .bytes(let count) = try tls.read(into: &buffer) {
                    received += buffer[..<count]
                    try session.receive(buffer.span.extracting(0..<count))
                    drain()
                }
                if tls.state == .ended { end() }
            } catch { end() }
        }
    }

    private func writeOut() throws {
        var plaintext: [UInt8] = []
        if tls.state == .open {
            try? session.takeOutput(into: &plaintext, atMost: 65_536)
            drain()
            try tls.write(plaintext.span)
        }
        var ciphertext: [UInt8] = []
        tls.takeCiphertext(into: &ciphertext)
        var start = 0
        while start < ciphertext.count && !isClosed {
            let count = (try? socket.write(ciphertext.span.extracting(start..<ciphertext.count))) ?? -1
            if count < 0 { end() }
            start += max(0, count)
        }
    }

    private func end() {
        isClosed = true
        session.connectionLost()
        drain()
    }

    private func drain() {
        while let event = session.nextEvent() {
            switch event {
            case .ended(let found):
                answers[found.tag] = Answer(
                    conclusion: found.conclusion, status: Int(found.status), apnsID: text(found.apnsID),
                    body: text(found.body), retryAfter: text(found.retryAfter))
            case .goAway(let last, _, let debug): goAways.append((last, text(debug)))
            case .settingsChanged(let limit): streamLimits.append(limit)
            case .pingAnswered: break
            }
        }
    }

    private func text(_ place: ByteRange) -> String { String(decoding: session.bytes(place), as: UTF8.self) }
}

struct TimedOut: Error {}

/// A push that is right unless a parameter changes it.
struct Push {
    var method = "POST"
    var path = "/3/device/00fc13adff785122b4ad28809a3420982341241421348097878e577c991de8f0"
    var authorization: String?
    var fields: [(name: String, value: String)] = []
    var body = Array(#"{"aps":{"alert":"Noon"}}"#.utf8)

    init(method: String, path: String) {
        self.method = method
        self.path = path
        body = []
    }

    init(token: String? = nil, authorization: String? = nil, _ fields: [(String, String)] = []) {
        if let token { path = "/3/device/" + token }
        self.authorization = authorization
        self.fields = fields.map { (name: $0.0, value: $0.1) }
        if !fields.contains(where: { $0.0 == "apns-topic" }) {
            self.fields.append(("apns-topic", "com.example.carillon"))
        }
    }

    var headers: HeaderList {
        var list = HeaderList()
        list.append(":method", method)
        list.append(":scheme", "https")
        list.append(":authority", "api.push.apple.com")
        list.append(":path", Array(path.utf8), isIndexed: false)
        if let authorization { list.append("authorization", authorization) }
        for field in fields where !field.value.isEmpty { list.append(field.name, Array(field.value.utf8)) }
        return list
    }
}
