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
    ///
    /// - Parameter group: the threads of the connections.
    static func over<Answer>(
        _ connections: Int, to host: String, port: Int,
        on group: any EventLoopGroup = .singletonMultiThreadedEventLoopGroup,
        _ body: (RequestLoad) async throws -> Answer
    ) async throws -> Answer {
        let bootstrap = ClientBootstrap(group: group)
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
        try await start(numbers, request).figures()
    }

    /// Keeps every connection busy while the body runs.
    func beside<Answer>(
        _ request: @escaping @Sendable (Int) -> ByteBuffer, _ body: () async throws -> Answer
    ) async throws -> (Answer, Figures) {
        let running = try start(0..<Int.max, request)
        let outcome: Result<Answer, any Error>
        do { outcome = .success(try await body()) } catch { outcome = .failure(error) }
        running.queue.stop()
        let figures = try await running.figures()
        return (try outcome.get(), figures)
    }

    private struct Running {
        let queue: LoadQueue
        let start = ContinuousClock().now

        func figures() async throws -> Figures {
            let statuses = try await queue.done.futureResult.get()
            return Figures(
                requests: statuses.values.reduce(0, +), time: ContinuousClock().now - start, statuses: statuses)
        }
    }

    private func start(
        _ numbers: Range<Int>, _ request: @escaping @Sendable (Int) -> ByteBuffer
    ) throws -> Running {
        guard channels.allSatisfy(\.isActive) else { throw Self.closed }
        let done = MultiThreadedEventLoopGroup.singleton.next().makePromise(of: [Int: Int].self)
        let queue = LoadQueue(numbers, over: channels.count, request: request, done: done)
        let running = Running(queue: queue)
        for channel in channels { channel.pipeline.fireUserInboundEventTriggered(queue) }
        return running
    }

    fileprivate static let closed = CommandFault(
        .failed, "the gateway closed connections before it had answered every request")
}

/// The queue from which the connections take their requests, and to which they report the statuses of the answers.
private final class LoadQueue: Sendable {
    private let numbers: Range<Int>
    private let request: @Sendable (Int) -> ByteBuffer
    private let taken = Atomic<Int>(0)
    private let isStopped = Atomic<Bool>(false)
    /// The statuses, and the number of connections that have not reported theirs; nil: the run is over.
    private let answered: Mutex<(statuses: [Int: Int], missing: Int)?>
    let done: EventLoopPromise<[Int: Int]>

    init(
        _ numbers: Range<Int>, over connections: Int, request: @escaping @Sendable (Int) -> ByteBuffer,
        done: EventLoopPromise<[Int: Int]>
    ) {
        self.numbers = numbers
        self.request = request
        self.done = done
        answered = Mutex(([:], connections))
    }

    /// Lets each connection end with the answer that it waits for.
    func stop() { isStopped.store(true, ordering: .relaxed) }

    /// nil: all have been taken.
    func next() -> ByteBuffer? {
        if isStopped.load(ordering: .relaxed) { return nil }
        let place = taken.add(1, ordering: .relaxed).oldValue
        return place < numbers.count ? request(numbers.lowerBound + place) : nil
    }

    func count(_ statuses: [Int: Int]) {
        let all = answered.withLock { answered -> [Int: Int]? in
            answered?.statuses.merge(statuses, uniquingKeysWith: +)
            answered?.missing -= 1
            guard let all = answered, all.missing == 0 else { return nil }
            answered = nil
            return all.statuses
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
    /// only what our own gateway writes: a length, no chunks. By bytes, because the client takes its processor time from
    /// the gateway.
    private func takeAnswer() -> Int? {
        let bytes = buffered.readableBytesView
        var start = bytes.startIndex
        var length = 0
        while let end = bytes[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = bytes[start..<end]
            start = end + 1
            if let value = Self.contentLength(line) { length = value }
            guard line.count <= 1 else { continue }
            let whole = start - bytes.startIndex + length
            guard bytes.count >= whole else { return nil }
            let status = Self.number(bytes.dropFirst(9).prefix(3))
            buffered.moveReaderIndex(forwardBy: whole)
            buffered.discardReadBytes()
            return status
        }
        return nil
    }

    private static let lengthName: [UInt8] = Array("content-length:".utf8)

    private static func contentLength(_ line: ByteBufferView) -> Int? {
        guard line.count > lengthName.count, zip(line, lengthName).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) else {
            return nil
        }
        return number(line.dropFirst(lengthName.count))
    }

    private static func number(_ text: ByteBufferView) -> Int {
        text.reduce(0) { (0x30...0x39).contains($1) ? $0 * 10 + Int($1 & 0x0f) : $0 }
    }
}
