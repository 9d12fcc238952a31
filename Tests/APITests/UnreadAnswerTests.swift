import Listener
import NIOCore
import NIOEmbedded
import Testing

@Suite("A client that reads nothing of its answer")
struct UnreadAnswerTests {
    @Test("loses its connection after the pause, and not before")
    func stuck() throws {
        let line = try Line(unsent: 1_000)
        try line.write(1_000)
        line.pass(.seconds(59))
        #expect(line.isOpen)
        line.pass(.seconds(2))
        #expect(!line.isOpen)
    }

    @Test("loses its connection although more is written to it")
    func moreIsWritten() throws {
        let line = try Line(unsent: 1_000)
        try line.write(1_000)
        for second in 2...59 {
            line.pass(.seconds(1))
            line.unsent = second * 1_000
            try line.write(1_000)
        }
        line.pass(.seconds(2))
        #expect(!line.isOpen)
    }

    @Test("keeps its connection if it reads a byte within each pause")
    func slow() throws {
        let line = try Line(unsent: 1_000)
        try line.write(1_000)
        for _ in 1...100 {
            line.pass(.seconds(55))
            // The same number of bytes waits as before, because the client took one.
            try line.write(1)
        }
        #expect(line.isOpen)
        line.unsent = 0
        line.pass(.seconds(1_000))
        #expect(line.isOpen)
    }
}

/// A connection with a clock of its own, whose socket holds as many unsent bytes as the test says.
private final class Line {
    private let channel: EmbeddedChannel
    private let socket: Socket

    var unsent: Int {
        get { socket.unsent }
        set { socket.unsent = newValue }
    }

    private final class Socket {
        var unsent: Int
        init(_ unsent: Int) { self.unsent = unsent }
    }

    init(unsent: Int) throws {
        let socket = Socket(unsent)
        self.socket = socket
        channel = EmbeddedChannel(
            handler: AnswerStallHandler(pauseMax: GatewayLimits().bodyPauseMax) { _ in socket.unsent })
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    var isOpen: Bool { channel.isActive }

    func write(_ count: Int) throws { try channel.writeOutbound(ByteBuffer(repeating: 0, count: count)) }

    func pass(_ time: Duration) { channel.embeddedEventLoop.advanceTime(by: TimeAmount(time)) }
}
