import Listener
import Logging
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Testing

@Suite("An idle connection")
struct IdleConnectionTests {
    private let idle: Duration = .seconds(75)

    @Test("closes when the idle timeout is over, and not before")
    func idleFromTheStart() throws {
        let line = try Line(idle)
        line.pass(.seconds(74))
        #expect(line.isOpen)
        line.pass(.seconds(1))
        #expect(!line.isOpen)
    }

    @Test("waits the whole idle timeout again after each answer")
    func busyMeanwhile() throws {
        let line = try Line(idle)
        for _ in 1...3 {
            line.pass(.seconds(60))
            try line.ask()
            try line.answer()
        }
        line.pass(.seconds(74))
        #expect(line.isOpen)
        line.pass(.seconds(1))
        #expect(!line.isOpen)
    }

    @Test("stays open while an answer takes long, and waits the idle timeout from then on")
    func slowAnswer() throws {
        let line = try Line(idle)
        try line.ask()
        line.pass(.seconds(1_000))
        #expect(line.isOpen)
        try line.answer()
        line.pass(.seconds(74))
        #expect(line.isOpen)
        line.pass(.seconds(100))
        #expect(!line.isOpen)
    }

    @Test("closes although bytes that are no request arrived after the last answer")
    func noRequest() throws {
        let line = try Line(idle)
        try line.ask()
        try line.answer()
        line.comeToNothing()
        line.pass(.seconds(150))
        #expect(!line.isOpen)
    }
}

/// A connection with a clock of its own.
private struct Line {
    private let channel: EmbeddedChannel
    private let stallHandler: RequestStallHandler

    init(_ idle: Duration) throws {
        var limits = GatewayLimits()
        limits.idleTimeout = idle
        var log = Logger(label: "idle-test")
        log.logLevel = .critical
        channel = EmbeddedChannel()
        let place = ConnectionPlaceHandler(ConnectionPlaces(limits, log: log), channel).place
        stallHandler = RequestStallHandler(limits: limits, log: log, place: place)
        try channel.pipeline.syncOperations.addHandler(stallHandler)
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    var isOpen: Bool { channel.isActive }

    func pass(_ time: Duration) { channel.embeddedEventLoop.advanceTime(by: TimeAmount(time)) }

    func ask() throws {
        let head = HTTPRequestHead(version: .http1_1, method: .GET, uri: "/healthz", headers: ["Host": "gateway"])
        try channel.writeInbound(HTTPServerRequestPart.head(head))
        try channel.writeInbound(HTTPServerRequestPart.end(nil))
    }

    func comeToNothing() {
        stallHandler.bytesCame(1)
        channel.pipeline.fireErrorCaught(HTTPParserError.closedConnection)
    }

    func answer() throws {
        try channel.writeOutbound(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok)))
        try channel.writeOutbound(HTTPServerResponsePart.end(nil))
    }
}
