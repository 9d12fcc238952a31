import Basis
import Glibc
import Reactor
import TLS

/// A client that speaks HTTP/1.1 or something like it to a simulator, and waits on the test's own thread.
final class HTTP1Client {
    private let socket: StreamSocket
    let tls: TLSSession
    /// The simulator ends with its last reference.
    private let standIn: any Actor
    private(set) var isClosed = false
    /// Plaintext that belongs to no answer so far.
    private var received: [UInt8] = []

    struct Answer: Equatable {
        var status = 0
        var fields: [String] = []
        var body = ""
        func has(_ field: String) -> Bool { fields.contains(field) }
    }

    init(
        _ standIn: any Actor, port: UInt16, trust: [UInt8], alpn: [String] = ["http/1.1"], serverName: String
    ) throws {
        self.standIn = standIn
        socket = try StreamSocket.connect(to: SocketAddress(loopbackPort: port))
        let context = try TLSContext.client(trust: .only(pem: trust), alpn: alpn)
        tls = try TLSSession(context, serverName: serverName)
        try tls.advance()
        try pump(until: { self.tls.state == .open })
    }

    func write(_ text: String) throws { try write(Array(text.utf8)) }

    func write(_ bytes: [UInt8]) throws {
        guard !isClosed, tls.state == .open else { return }
        try tls.write(bytes.span)
        writeOut()
    }

    func ask(_ method: String, _ path: String, _ fields: [String] = [], body: [UInt8] = []) throws -> Answer {
        let head = ["\(method) \(path) HTTP/1.1", "Host: localhost", "Content-Length: \(body.count)"] + fields
        try write(Array(head.joined(separator: "\r\n").utf8) + Array("\r\n\r\n".utf8) + body)
        return try answer()
    }

    /// Reads the next answer. Status 0: the connection ended first.
    func answer() throws -> Answer {
        var answer: Answer?
        try pump(until: {
            answer = self.takeAnswer()
            return answer != nil || self.isClosed
        })
        return answer ?? Answer()
    }

    func waitForClose() throws { try pump(until: { self.isClosed }) }

    private func takeAnswer() -> Answer? {
        let end = Array("\r\n\r\n".utf8)
        guard let range = received.firstRange(of: end) else { return nil }
        let lines = String(decoding: received[..<range.lowerBound], as: UTF8.self).split(separator: "\r\n").map(
            String.init)
        let parts = lines.first?.split(separator: " ") ?? []
        var answer = Answer()
        answer.status = parts.count > 1 ? Int(parts[1]) ?? 0 : 0
        answer.fields = Array(lines.dropFirst())
        let length = answer.fields.first { $0.hasPrefix("content-length: ") }.flatMap { Int($0.dropFirst(16)) } ?? 0
        guard received.count - range.upperBound >= length else { return nil }
        answer.body = String(decoding: received[range.upperBound..<(range.upperBound + length)], as: UTF8.self)
        received.removeFirst(range.upperBound + length)
        return answer
    }

    private func pump(until isDone: () -> Bool) throws {
        let deadline = Clocks.monotonicNow() + Provider.timeout
        var buffer = [UInt8](repeating: 0, count: 65_536)
        while true {
            writeOut()
            if isDone() || isClosed { return }
            guard Clocks.monotonicNow() < deadline else { throw TimedOut() }
            var event = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&event, 1, 100) > 0 else { continue }
            do {
                guard case .bytes(let count) = try socket.read(into: &buffer) else {
                    isClosed = true
                    continue
                }
                try tls.feed(buffer.span.extracting(0..<count))
                while case .bytes(let count) = try tls.read(into: &buffer) { received += buffer[..<count] }
                if tls.state == .ended { isClosed = true }
            } catch { isClosed = true }
        }
    }

    private func writeOut() {
        var ciphertext: [UInt8] = []
        tls.takeCiphertext(into: &ciphertext)
        var start = 0
        while start < ciphertext.count {
            guard let count = try? socket.write(ciphertext.span.extracting(start..<ciphertext.count)) else { return }
            start += count
        }
    }
}
