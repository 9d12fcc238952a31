import Basis
import Glibc
import Reactor
import Simulator
import TLS

/// A client that sends a fixed number of bytes and waits for the end, on the test's own thread.
final class Stranger {
    private let socket: StreamSocket
    private let tls: TLSSession?
    /// The simulator ends with its last reference.
    private let standIn: ProviderSimulator
    private(set) var isClosed = false

    /// - Parameter inside: the bytes to send through TLS after its handshake; nil: no TLS at all.
    /// - Parameter outside: the bytes to send before TLS.
    init(_ standIn: StandIn, outside: [UInt8] = [], inside: [UInt8]? = nil) throws {
        self.standIn = standIn.simulator
        socket = try StreamSocket.connect(to: SocketAddress(loopbackPort: standIn.port))
        let deadline = Clocks.monotonicNow() + Provider.timeout
        while (try? socket.connectResult()) == nil {
            guard Clocks.monotonicNow() < deadline else { throw TimedOut() }
        }
        _ = try? socket.write(outside.span)
        guard let inside else {
            tls = nil
            return
        }
        let context = try TLSContext.client(trust: .only(pem: standIn.authority.pem))
        let session = try TLSSession(context, serverName: "api.push.apple.com")
        tls = session
        try session.advance()
        writeOut(session)
        try pump(until: { session.state == .open || self.isClosed })
        if session.state == .open { try session.write(inside.span) }
        writeOut(session)
    }

    /// Whether other clients are served meanwhile. With short deadlines, a busy machine does not serve every one.
    static func isServed(by standIn: StandIn) throws -> Bool {
        let identity = try standIn.certificate()
        return (0..<20).contains { _ in
            let status = try? standIn.connect(identity: identity).ask(Push()).status
            return status == 200
        }
    }

    /// Closes its own end too, because the peer waits for that after its GOAWAY.
    func waitForClose() throws {
        try pump(until: { self.isClosed })
        socket.close()
    }

    private func pump(until isDone: () -> Bool) throws {
        let deadline = Clocks.monotonicNow() + Provider.timeout
        var buffer = [UInt8](repeating: 0, count: 16_384)
        while !isDone() {
            guard Clocks.monotonicNow() < deadline else { throw TimedOut() }
            var event = pollfd(fd: socket.descriptor, events: Int16(POLLIN), revents: 0)
            guard unsafe poll(&event, 1, 100) > 0 else { continue }
            guard case .bytes(let count) = try? socket.read(into: &buffer) else {
                isClosed = true
                continue
            }
            try? tls?.feed(buffer.span.extracting(0..<count))
            if let tls { writeOut(tls) }
        }
    }

    private func writeOut(_ tls: TLSSession) {
        var ciphertext: [UInt8] = []
        tls.takeCiphertext(into: &ciphertext)
        if !ciphertext.isEmpty { _ = try? socket.write(ciphertext.span) }
    }
}
