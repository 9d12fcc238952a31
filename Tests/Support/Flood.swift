import Glibc
import Reactor
import TLS

/// A client that sends one request after the other, as fast as the gateway takes them, and reads no answer.
package final class Flood {
    private let socket: StreamSocket
    /// nil: without TLS.
    private let session: TLSSession?
    private let request: [UInt8]
    /// Bytes of requests that may still be sent.
    private var left: Int
    private var unsent: [UInt8] = []

    /// The approximate size of a write.
    private static let pieceBytes = 64 << 10

    /// - Parameters:
    ///   - trust: PEM of the authority that made the gateway's certificate; nil: without TLS.
    ///   - bytesMax: of requests, in all.
    package init(_ request: String, to port: Int, trust: [UInt8]? = nil, bytesMax: Int) throws {
        socket = try StreamSocket.connect(to: SocketAddress(loopbackPort: UInt16(port)))
        session = try trust.map {
            try TLSSession(TLSContext.client(trust: .only(pem: $0), alpn: ["http/1.1"]), serverName: "127.0.0.1")
        }
        self.request = Array(request.utf8)
        left = bytesMax
        // Only the gateway ends the connection.
        var none: Int32 = 0
        let size = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe setsockopt(socket.descriptor, Int32(IPPROTO_TCP), TCP_USER_TIMEOUT, &none, size)
        try session?.advance()
    }

    /// Writes what the connection takes now, and returns its bytes. Throws where the gateway has ended it.
    package func push() throws -> Int {
        guard !isHungUp else { throw HungUp() }
        if session?.state == .handshaking { try listen() }
        var taken = 0
        while true {
            if unsent.isEmpty { try refill() }
            let waiting = unsent
            let count = try socket.write(waiting.span)
            if count == 0 { return taken }
            unsent.removeFirst(count)
            taken += count
        }
    }

    package struct HungUp: Error {}

    /// `POLLRDHUP` of <poll.h>, which Glibc's module does not have: the peer sends no more.
    private static let peerEnds: Int16 = 0x2000

    /// Whether the gateway has ended the connection.
    package var isHungUp: Bool {
        var event = pollfd(fd: socket.descriptor, events: Self.peerEnds, revents: 0)
        return unsafe poll(&event, 1, 0) != 0
    }

    /// Reads what the TLS handshake needs, and no answers.
    private func listen() throws {
        var buffer = [UInt8](repeating: 0, count: Self.pieceBytes)
        guard case .bytes(let count) = try socket.read(into: &buffer) else { return }
        try session?.feed(buffer.span.extracting(0..<count))
    }

    private func refill() throws {
        if left > 0, session?.state != .handshaking {
            var piece: [UInt8] = []
            while piece.count < Self.pieceBytes, piece.count < left { piece += request }
            left -= piece.count
            guard let session else {
                unsent = piece
                return
            }
            try session.write(piece.span)
        }
        session?.takeCiphertext(into: &unsent)
    }
}
