import NIOCore
import NIOPosix
import Synchronization

/// Many requests over a few connections that stay open, each connection with one request at a time, as a mobile backend's
/// pool of clients does.
struct RequestLoad {
    let host: String
    let port: Int
    let connections: Int

    struct Figures {
        let requests: Int
        let time: Duration
        /// How often each status was answered.
        let statuses: [Int: Int]

        var perSecond: Double { Double(requests) / (time / .seconds(1)) }
    }

    /// - Parameter request: the bytes of the request of a number, from 1 on.
    func run(_ requests: Int, _ request: @escaping @Sendable (Int) -> ByteBuffer) async throws -> Figures {
        let queue = LoadQueue(requests: requests, request: request)
        let clock = ContinuousClock()
        let start = clock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for _ in 0..<connections {
                group.addTask {
                    let channel = try await ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
                        .channelOption(.tcpOption(.tcp_nodelay), value: 1)
                        .channelInitializer { channel in
                            channel.eventLoop.makeCompletedFuture {
                                try channel.pipeline.syncOperations.addHandler(LoadConnection(queue))
                            }
                        }
                        .connect(host: host, port: port).get()
                    try await channel.closeFuture.get()
                }
            }
            try await group.waitForAll()
        }
        let took = clock.now - start
        let statuses = queue.statuses
        guard statuses.values.reduce(0, +) == requests else {
            throw CommandFault(.failed, "the gateway closed connections before it had answered every request")
        }
        return Figures(requests: requests, time: took, statuses: statuses)
    }
}

/// What the connections take their requests from, and where they tell what was answered.
private final class LoadQueue: Sendable {
    private let requests: Int
    private let request: @Sendable (Int) -> ByteBuffer
    private let taken = Atomic<Int>(0)
    private let answered = Mutex<[Int: Int]>([:])

    init(requests: Int, request: @escaping @Sendable (Int) -> ByteBuffer) {
        self.requests = requests
        self.request = request
    }

    /// nil: all have been taken.
    func next() -> ByteBuffer? {
        let number = taken.add(1, ordering: .relaxed).newValue
        return number <= requests ? request(number) : nil
    }

    func tell(_ statuses: [Int: Int]) { answered.withLock { $0.merge(statuses, uniquingKeysWith: +) } }

    var statuses: [Int: Int] { answered.withLock { $0 } }
}

/// One connection: sends, reads the answer to its end, sends the next. Lives on its channel's loop.
private final class LoadConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    private let queue: LoadQueue
    private var held = ByteBuffer()
    private var statuses: [Int: Int] = [:]

    init(_ queue: LoadQueue) { self.queue = queue }

    func channelActive(context: ChannelHandlerContext) { sendNext(context) }

    func channelInactive(context: ChannelHandlerContext) { queue.tell(statuses) }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var chunk = unwrapInboundIn(data)
        held.writeBuffer(&chunk)
        guard let status = takeAnswer() else { return }
        statuses[status, default: 0] += 1
        sendNext(context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func sendNext(_ context: ChannelHandlerContext) {
        guard let request = queue.next() else { return context.close(promise: nil) }
        context.writeAndFlush(wrapOutboundOut(request), promise: nil)
    }

    /// The status of a whole answer, which is taken away; nil as long as something of it is missing. Reads what our own
    /// gateway writes: a length, no chunks.
    private func takeAnswer() -> Int? {
        let bytes = held.readableBytesView
        guard let end = bytes.firstRange(of: Self.headEnd) else { return nil }
        let head = bytes[bytes.startIndex..<end.lowerBound]
        guard let status = Int(String(decoding: head.dropFirst(9).prefix(3), as: UTF8.self)) else { return nil }
        var length = 0
        for line in head.split(separator: UInt8(ascii: "\n")) {
            let text = String(decoding: line, as: UTF8.self).lowercased()
            guard text.hasPrefix("content-length:") else { continue }
            length = Int(text.dropFirst(15).filter(\.isNumber)) ?? 0
        }
        let whole = end.upperBound - bytes.startIndex + length
        guard bytes.count >= whole else { return nil }
        held.moveReaderIndex(forwardBy: whole)
        held.discardReadBytes()
        return status
    }

    private static let headEnd: [UInt8] = Array("\r\n\r\n".utf8)
}
