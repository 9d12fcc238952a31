import API
import Listener
import NIOCore
import NIOEmbedded
import NIOHTTP1
import Reactor
import TLS
import TestSupport
import Testing

@Suite("A connection with pipelined requests", .timeLimit(.minutes(3)))
struct PipeliningTests {
    /// A request that the client repeats, and the number of requests that are parsed before one is answered.
    struct Ahead: Sendable, CustomTestStringConvertible {
        let testDescription: String
        let request: String
        var parsed = 8
    }

    private static let ahead = [
        Ahead(testDescription: "short requests", request: "GET / HTTP/1.1\r\nHost:\r\n\r\n"),
        Ahead(testDescription: "empty lines between requests", request: "\r\n\r\nGET / HTTP/1.1\r\nHost: g\r\n\r\n"),
        Ahead(
            testDescription: "bodies with blank lines",
            request: "PUT / HTTP/1.1\r\nHost: g\r\nContent-Length: 9\r\n\r\n\n\n\r\n\r\n\n\n\n"),
        Ahead(
            testDescription: "chunked bodies with blank lines",
            request:
                "PUT / HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n2\r\n\n\n\r\n3\r\nabc\r\n0\r\nA: b\r\n\r\n"
        ),
        // The first request is parsed whatever its size, and 64 kB after it.
        Ahead(
            testDescription: "long heads",
            request: "GET / HTTP/1.1\r\nHost: g\r\nA: \(String(repeating: "a", count: 30_000))\r\n\r\n", parsed: 4),
        Ahead(
            testDescription: "long bodies",
            request: GatewayWorld.request("PUT", "/", String(repeating: " ", count: 30_000)),
            parsed: 4),
    ]

    @Test("parses only a few requests ahead, and one more with each answer", arguments: ahead)
    func fewParsed(ahead: Ahead) async throws {
        try await withGateway { world in
            for pieceBytes in [1, 7, 16_384, 1 << 20] where pieceBytes > 7 || ahead.request.utf8.count < 1_000 {
                try Line(world.services).within { line in
                    let text = Array(String(repeating: ahead.request, count: 20).utf8)
                    for start in stride(from: 0, to: text.count, by: pieceBytes) {
                        try line.receive(text[start..<min(text.count, start + pieceBytes)])
                    }
                    #expect((1...ahead.parsed).contains(line.heads), "\(line.heads) in pieces of \(pieceBytes)")
                    #expect(!line.asksForMore)
                    while line.answered < line.ended {
                        try line.answer()
                        #expect(line.heads - line.answered <= ahead.parsed)
                    }
                    #expect(line.answered == 20)
                    #expect(line.asksForMore)
                }
            }
        }
    }

    @Test("parses only a few requests ahead, wherever they are cut")
    func cutAnywhere() async throws {
        try await withGateway { world in
            for seed in 1...100 as ClosedRange<UInt64> {
                try Line(world.services).within { line in try Self.tryCuts(seed, line) }
            }
        }
    }

    private static func tryCuts(_ seed: UInt64, _ line: Line) throws {
        var random = SeededGenerator(seed: seed)
        let requests = (0..<60).map { _ in ahead[Int.random(in: 0..<4, using: &random)].request }
        var text = Array(requests.joined().utf8)[...]
        while !text.isEmpty || line.answered < line.ended {
            if Bool.random(using: &random) {
                let piece = text.prefix(Int.random(in: 1...200, using: &random))
                text = text.dropFirst(piece.count)
                try line.receive(piece)
            } else if line.answered < line.ended {
                try line.answer()
            }
            try #require(line.heads - line.answered <= 8, "seed \(seed)")
        }
        #expect(line.answered == requests.count, "seed \(seed)")
    }

    /// The first case has chunks of one byte; the second has one chunk of empty lines, each of which could end a head.
    @Test(
        "parses a chunked body no faster than the body is read",
        arguments: [
            (String(repeating: "1\r\nx\r\n", count: 10_000), 10_000),
            ("3e80\r\n" + String(repeating: "\n", count: 16_000) + "\r\n", 16_000),
        ])
    func tinyChunks(chunks: String, bytes: Int) async throws {
        try await withGateway { world in
            try Line(world.services).within { line in
                line.readsOn = false
                let head = "PUT / HTTP/1.1\r\nHost: g\r\nTransfer-Encoding: chunked\r\n\r\n"
                try line.receive(Array((head + chunks + "0\r\n\r\n").utf8)[...])
                #expect((1...200).contains(line.bodyParts))
                line.readsOn = true
                line.readOn()
                #expect(line.bodyBytes == bytes && line.ended == 1)
            }
        }
    }

    @Test("signals the end of input once the last request is parsed")
    func inputEnds() async throws {
        try await withGateway { world in
            try Line(world.services).within { line in
                try line.receive(Array(String(repeating: Self.ahead[0].request, count: 10).utf8)[...])
                line.endInput()
                #expect(!line.inputHasEnded)
                for _ in 1...2 { try line.answer() }
                #expect(line.inputHasEnded && line.heads == 10)
            }
        }
    }

    @Test("applies no deadline to bytes that the gateway holds back")
    func notLate() async throws {
        try await withGateway { world in
            try Line(world.services).within { line in
                let body = String(repeating: " ", count: 100_000)
                let text = Array((Self.ahead[0].request + GatewayWorld.request("PUT", "/", body)).utf8)
                for start in stride(from: 0, to: text.count, by: 16_384) {
                    try line.receive(text[start..<min(text.count, start + 16_384)])
                }
                #expect(line.heads == 2 && line.ended == 1)
                line.pass(.seconds(3_600))
                #expect(line.isOpen && line.faults == 0)
                try line.answer()
                #expect(line.ended == 2)
            }
        }
    }

    @Test(
        "answers in order, even to a client that reads only after its last request",
        arguments: [false, true])
    func slowReader(endsSending: Bool) async throws {
        try await withGateway { world in
            let paths = (0..<1_000).map { number in
                number % 20 == 0 ? "/openapi.yaml" : number % 3 == 0 ? "/healthz" : "/nowhere"
            }
            let wire = try Wire(port: world.port)
            try await wire.send(paths.map { GatewayWorld.request("GET", $0) }.joined())
            if endsSending { await wire.endSending() }
            for path in paths {
                let reply = try await wire.reply()
                switch path {
                case "/openapi.yaml": #expect(reply.text.hasPrefix("openapi:"))
                case "/healthz": #expect(reply.text.contains("alive"))
                default: #expect(reply.status == 404, "\(reply.text)")
                }
            }
        }
    }

    @Test("closes after the pause if the client reads nothing, also over TLS", arguments: [false, true])
    func hungUp(isEncrypted: Bool) async throws {
        var limits = GatewayLimits()
        limits.bodyPauseMax = .milliseconds(300)
        let authority = try CertificateAuthority(validity: .days(2, from: Clocks.wallNow()))
        try await withGateway(limits: limits, authority: isEncrypted ? authority : nil) { world in
            let floods = try ["/healthz", "/openapi.yaml", "/v1/apps/a/devices/phone"].map { path in
                let method = path.hasPrefix("/v1") ? "PUT" : "GET"
                let body = method == "PUT" ? GatewayWorld.registration(1) : nil
                return try Flood(
                    GatewayWorld.request(method, path, body, key: "wrong"), to: world.port,
                    trust: isEncrypted ? authority.pem : nil, bytesMax: .max)
            }
            try await eventually("each connection to be closed") {
                for flood in floods where !flood.isHungUp { _ = try? flood.push() }
                return floods.allSatisfy(\.isHungUp)
            }
        }
    }
}

/// A connection with the server's handlers and a clock of its own. The library behind it answers on command.
private final class Line {
    private let channel = EmbeddedChannel()
    private let library = Library()
    private let socket = ReadCounter()

    init(_ services: GatewayServices) throws {
        let pipeline = channel.pipeline.syncOperations
        try pipeline.configureHTTPServerPipeline(withPipeliningAssistance: false, withErrorHandling: false)
        try pipeline.addHandler(
            ConnectionHandlerInstaller(
                limits: services.limits, log: services.context.log,
                places: ConnectionPlaces(services.limits, log: services.context.log),
                shortcut: GatewayResponder(services).shortcut))
        try pipeline.addHandler(library)
        try pipeline.addHandler(socket, position: .first)
        try channel.connect(to: try SocketAddress(ipAddress: "127.0.0.1", port: 1)).wait()
    }

    func within(_ body: (Line) throws -> Void) throws {
        defer { _ = try? channel.finish(acceptAlreadyClosed: true) }
        channel.read()
        try body(self)
    }

    var heads: Int { library.heads }
    var bodyParts: Int { library.bodyParts }
    var bodyBytes: Int { library.bodyBytes }
    var ended: Int { library.ended }
    var faults: Int { library.faults }
    var inputHasEnded: Bool { library.inputHasEnded }
    private(set) var answered = 0
    var isOpen: Bool { channel.isActive }

    var readsOn: Bool {
        get { library.readsOn }
        set { library.readsOn = newValue }
    }

    /// Whether the socket would be read now.
    var asksForMore: Bool {
        socket.reads = 0
        channel.read()
        return socket.reads > 0
    }

    func readOn() { channel.read() }

    func pass(_ time: Duration) { channel.embeddedEventLoop.advanceTime(by: TimeAmount(time)) }

    func receive(_ bytes: ArraySlice<UInt8>) throws {
        channel.pipeline.fireChannelRead(ByteBuffer(bytes: bytes))
        channel.pipeline.fireChannelReadComplete()
        channel.read()
    }

    func endInput() { channel.pipeline.fireUserInboundEventTriggered(ChannelEvent.inputClosed) }

    func answer() throws {
        answered += 1
        channel.pipeline.syncOperations.write(
            NIOAny(HTTPServerResponsePart.head(HTTPResponseHead(version: .http1_1, status: .ok))), promise: nil)
        channel.pipeline.syncOperations.writeAndFlush(NIOAny(HTTPServerResponsePart.end(nil)), promise: nil)
        channel.embeddedEventLoop.run()
        while try channel.readOutbound(as: IOData.self) != nil {}
    }
}

private final class Library: ChannelDuplexHandler {
    typealias InboundIn = HTTPServerRequestPart
    typealias OutboundIn = HTTPServerResponsePart

    var heads = 0
    var bodyParts = 0
    var bodyBytes = 0
    var ended = 0
    var faults = 0
    var inputHasEnded = false
    var readsOn = true

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        switch unwrapInboundIn(data) {
        case .head: heads += 1
        case .body(let bytes):
            bodyParts += 1
            bodyBytes += bytes.readableBytes
        case .end: ended += 1
        }
    }

    func read(context: ChannelHandlerContext) {
        if readsOn { context.read() }
    }

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        if case ChannelEvent.inputClosed = event { inputHasEnded = true }
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { faults += 1 }
}

private final class ReadCounter: ChannelOutboundHandler {
    typealias OutboundIn = IOData
    var reads = 0

    func read(context: ChannelHandlerContext) {
        reads += 1
        context.read()
    }
}
