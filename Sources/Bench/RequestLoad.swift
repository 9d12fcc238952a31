import CommandLine
import NIOCore
import NIOPosix
import Synchronization

/// Many requests over a few connections that stay open, as a mobile backend's pool of clients makes them. Each
/// connection has one request at a time.
struct RequestLoad {
    private let channels: [any Channel]

    struct Figures {
        let requests: Int
        let time: Duration
        /// The number of answers of each status.
        let statuses: [Int: Int]

        var perSecond: Double { Double(requests) / (time / .seconds(1)) }

        static func + (one: Self, other: Self) -> Self {
            Self(
                requests: one.requests + other.requests, time: one.time + other.time,
                statuses: one.statuses.merging(other.statuses, uniquingKeysWith: +))
        }
    }

    /// Connects before the body and disconnects after it, so that requests are measured and not handshakes.
    static func over<Answer>(
        _ connections: Int, to host: String, port: Int, _ body: (RequestLoad) async throws -> Answer
    ) async throws -> Answer {
        let bootstrap = ClientBootstrap(group: .singletonMultiThreadedEventLoopGroup)
            .channelOption(.tcpOption(.tcp_nodelay), value: 1)
            .channelInitializer { channel in
                channel.eventLoop.makeCompletedFuture {
                    try channel.pipeline.syncOperations.addHandler(LoadConnection())
                }
            }
        var channels: [any Channel] = []
        defer { for channel in channels { channel.close(promise: nil) } }
        for _ in 0..<connections { channels.append(try await bootstrap.connect(host: host, port: port).get()) }
        return try await body(RequestLoad(channels: channels))
    }

    /// - Parameter request: returns the bytes of the request with a number.
    func run(_ numbers: Range<Int>, _ request: @escaping @Sendable (Int) -> ByteBuffer) async throws -> Figures {
        guard channels.allSatisfy(\.isActive) else { throw Self.closed }
        let done = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: [Int: Int].self)
        let queue = LoadQueue(numbers, request: request, done: done)
        let clock = ContinuousClock()
        let start = clock.now
        for channel in channels { channel.pipeline.fireUserInboundEventTriggered(queue) }
        let statuses = try await done.futureResult.get()
        return Figures(requests: numbers.count, time: clock.now - start, statuses: statuses)
    }

    fileprivate static let closed = CommandFault(
        .failed, "the gateway closed connections before it had answered every request")
}

/// The queue from which the connections take their requests, and to which they report the statuses of the answers.
private final class LoadQueue: Sendable {
    private let numbers: Range<Int>
    private let request: @Sendable (Int) -> ByteBuffer
    private let taken = Atomic<Int>(0)
    /// nil: the run is over.
    private let answered = Mutex<[Int: Int]?>([:])
    private let done: EventLoopPromise<[Int: Int]>

    init(
        _ numbers: Range<Int>, request: @escaping @Sendable (Int) -> ByteBuffer, done: EventLoopPromise<[Int: Int]>
    ) {
        self.numbers = numbers
        self.request = request
        self.done = done
    }

    /// nil: all have been taken.
    func next() -> ByteBuffer? {
        let place = taken.add(1, ordering: .relaxed).oldValue
        return place < numbers.count ? request(numbers.lowerBound + place) : nil
    }

    func count(_ statuses: [Int: Int]) {
        let all = answered.withLock { answered -> [Int: Int]? in
            answered?.merge(statuses, uniquingKeysWith: +)
            guard let all = answered, all.values.reduce(0, +) == numbers.count else { return nil }
            answered = nil
            return all
        }
        if let all { done.succeed(all) }
    }

    func fail() {
        let isFirst = answered.withLock { answered in
            defer { answered = nil }
            return answered != nil
        }
        if isFirst { done.fail(RequestLoad.closed) }
    }
}

/// One connection, which sends a request, reads the whole answer, and sends the next. Lives on its channel's loop.
private final class LoadConnection: ChannelInboundHandler {
    typealias InboundIn = ByteBuffer
    typealias OutboundOut = ByteBuffer

    /// nil: nothing is to be sent.
    private var queue: LoadQueue?
    private var buffered = ByteBuffer()
    private var statuses: [Int: Int] = [:]

    func userInboundEventTriggered(context: ChannelHandlerContext, event: Any) {
        guard let queue = event as? LoadQueue else { return context.fireUserInboundEventTriggered(event) }
        guard context.channel.isActive else { return queue.fail() }
        self.queue = queue
        sendNext(context)
    }

    func channelInactive(context: ChannelHandlerContext) { queue?.fail() }

    func channelRead(context: ChannelHandlerContext, data: NIOAny) {
        var chunk = unwrapInboundIn(data)
        buffered.writeBuffer(&chunk)
        guard let status = takeAnswer() else { return }
        statuses[status, default: 0] += 1
        sendNext(context)
    }

    func errorCaught(context: ChannelHandlerContext, error: any Error) { context.close(promise: nil) }

    private func sendNext(_ context: ChannelHandlerContext) {
        guard let request = queue?.next() else {
            queue?.count(statuses)
            queue = nil
            statuses = [:]
            return
        }
        context.writeAndFlush(wrapOutboundOut(request), promise: nil)
    }

    /// Takes a whole answer out of the buffer and returns its status; nil as long as the answer is incomplete. Reads
    /// only what our own gateway writes: a length, no chunks.
    private func takeAnswer() -> Int? {
        let bytes = buffered.readableBytesView
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
        buffered.moveReaderIndex(forwardBy: whole)
        buffered.discardReadBytes()
        return status
    }

    private static let headEnd: [UInt8] = Array("\r\n\r\n".utf8)
}
