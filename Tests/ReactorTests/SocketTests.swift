import Basis
import Glibc
import Reactor
import Testing

/// Reads to the end and returns the bytes.
private final class Collector: ReadinessHandler {
    let loop: ReactorLoop
    let socket: StreamSocket
    var bytes: [UInt8] = []
    let finish: (Result<[UInt8], ReactorError>) -> Void

    init(_ loop: ReactorLoop, _ socket: StreamSocket, finish: @escaping (Result<[UInt8], ReactorError>) -> Void) throws
    {
        self.loop = loop
        self.socket = socket
        self.finish = finish
        try loop.watch(socket.descriptor, .read, self)
    }

    func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
        var buffer = [UInt8](repeating: 0, count: 4_096)
        do throws(ReactorError) {
            while true {
                switch try socket.read(into: &buffer) {
                case .bytes(let count): bytes += buffer[..<count]
                case .wouldBlock: return
                case .ended: return end(.success(bytes))
                }
            }
        } catch {
            end(.failure(error))
        }
    }

    private func end(_ result: Result<[UInt8], ReactorError>) {
        loop.unwatch(socket.descriptor)
        socket.close()
        finish(result)
    }
}

/// Waits for the connection, writes everything, and ends the stream.
private final class Sender: ReadinessHandler {
    let loop: ReactorLoop
    let socket: StreamSocket
    var remaining: ArraySlice<UInt8>
    var failure: ReactorError?
    let finish: (ReactorError?) -> Void

    init(
        _ loop: ReactorLoop, to address: SocketAddress, _ bytes: [UInt8], finish: @escaping (ReactorError?) -> Void
    ) throws {
        self.loop = loop
        self.finish = finish
        remaining = bytes[...]
        socket = try StreamSocket.connect(to: address)
        try loop.watch(socket.descriptor, .write, self)
    }

    func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
        do throws(ReactorError) {
            try socket.connectResult()
            while !remaining.isEmpty {
                let count = try socket.write(remaining.span)
                if count == 0 { return }
                remaining = remaining.dropFirst(count)
            }
        } catch {
            failure = error
        }
        loop.unwatch(socket.descriptor)
        socket.close()
        finish(failure)
    }
}

private func carry(_ bytes: [UInt8], to address: SocketAddress) async throws -> [UInt8] {
    let loop = try ReactorLoop(name: "test")
    defer { loop.stop() }
    return try await withCheckedThrowingContinuation { continuation in
        loop.perform {
            do {
                let listening = try ListeningSocket(binding: address)
                let acceptor = UnsafeBox(Box<Acceptor>())
                acceptor.value.content = try Acceptor(listening, on: loop) { accepted in
                    do {
                        _ = try Collector(loop, accepted) { continuation.resume(with: $0) }
                    } catch { continuation.resume(throwing: error) }
                    acceptor.value.content?.close()
                }
                _ = try Sender(loop, to: listening.address, bytes) { _ in }
            } catch { continuation.resume(throwing: error) }
        }
    }
}

final class Box<Value> {
    var content: Value?
}

@Suite("Sockets on a reactor loop", .timeLimit(.minutes(5)))
struct SocketTests {
    static let text = (0..<3_000_000).map { UInt8(truncatingIfNeeded: $0 &* 31) }

    @Test("carry bytes complete and in order over IPv4")
    func ipv4() async throws {
        #expect(try await carry(Self.text, to: SocketAddress(loopbackPort: 0)) == Self.text)
    }

    @Test("carry bytes complete and in order over IPv6")
    func ipv6() async throws {
        #expect(try await carry(Self.text, to: SocketAddress(loopbackIPv6Port: 0)) == Self.text)
    }

    @Test("report that a port is closed")
    func refused() async throws {
        let loop = try ReactorLoop(name: "test")
        defer { loop.stop() }
        let failure: ReactorError? = try await withCheckedThrowingContinuation { continuation in
            loop.perform {
                do {
                    let port = try ListeningSocket(binding: SocketAddress(loopbackPort: 0)).address.port
                    _ = try Sender(loop, to: SocketAddress(loopbackPort: port), [1]) {
                        continuation.resume(returning: $0)
                    }
                } catch { continuation.resume(throwing: error) }
            }
        }
        #expect(failure == .system(call: "connect", .connectionRefused))
    }

    @Test("report an error, not a signal, on a write after the peer's reset")
    func brokenPipe() throws {
        let listening = try ListeningSocket(binding: SocketAddress(loopbackPort: 0))
        let client = try StreamSocket.connect(to: listening.address)
        var accepted: StreamSocket?
        while accepted == nil { if case .accepted(let socket) = listening.accept() { accepted = socket } }
        accepted?.resetOnClose()
        accepted?.close()
        #expect(throws: ReactorError.self) {
            while true { _ = try client.write([1, 2, 3].span) }
        }
    }

    @Test("know their addresses")
    func addresses() throws {
        let listening = try ListeningSocket(binding: SocketAddress(loopbackIPv6Port: 0))
        #expect(listening.address.port != 0)
        #expect(listening.address.description == "[::1]:\(listening.address.port)")
    }
}

@Suite("An unwatched descriptor", .timeLimit(.minutes(5)))
struct StaleReadinessTests {
    final class Pair: ReadinessHandler {
        let loop: ReactorLoop
        let sockets: [StreamSocket]
        var reported: [Int32] = []
        init(_ loop: ReactorLoop, _ sockets: [StreamSocket]) {
            self.loop = loop
            self.sockets = sockets
        }
        func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
            reported.append(descriptor)
            for socket in sockets { loop.unwatch(socket.descriptor) }
        }
    }

    @Test("gets no event that the kernel had already reported in the same turn")
    func stale() async throws {
        let loop = try ReactorLoop(name: "test")
        defer { loop.stop() }
        let pair = try await onLoop(loop) { () -> UnsafeBox<Pair> in
            let listening = try ListeningSocket(binding: SocketAddress(loopbackPort: 0))
            // Both are writable at once, so that the kernel reports both in one turn.
            let sockets = try (0..<2).map { _ in try StreamSocket.connect(to: listening.address) }
            let pair = Pair(loop, sockets)
            for socket in sockets { try loop.watch(socket.descriptor, .write, pair) }
            return UnsafeBox(pair)
        }
        try await onLoop(loop) {}
        let reported = try await onLoop(loop) { pair.value.reported.count }
        #expect(reported == 1)
    }
}

@Suite("A process that has run out of file descriptors", .timeLimit(.minutes(5)))
struct ExhaustionTests {
    /// Runs in a process of its own: the limit would affect the tests beside it.
    @Test("waits without a busy loop, and accepts again when descriptors are free")
    func exhausted() async {
        await #expect(processExitsWith: .success) {
            let loop = try ReactorLoop(name: "test")
            let busy: Duration = try await withCheckedThrowingContinuation { continuation in
                loop.perform {
                    do { try ExhaustedListener(loop) { continuation.resume(returning: $0) }.start() } catch {
                        continuation.resume(throwing: error)
                    }
                }
            }
            try #require(busy < .milliseconds(125), "a loop that uses half of the wait as processor time is spinning")
        }
    }
}

/// Lets a client wait for 250 ms while no descriptor is free; returns how long the loop was busy meanwhile.
final class ExhaustedListener: TimerHandler {
    private let loop: ReactorLoop
    private let finish: (Duration) -> Void
    private var limit = rlimit()
    private var acceptor: Acceptor?
    private var client: StreamSocket?

    init(_ loop: ReactorLoop, finish: @escaping (Duration) -> Void) {
        self.loop = loop
        self.finish = finish
    }

    func start() throws {
        let listening = try ListeningSocket(binding: SocketAddress(loopbackPort: 0))
        acceptor = try Acceptor(listening, on: loop) { _ in
            self.acceptor?.close()
            self.finish(threadTime())
        }
        client = try StreamSocket.connect(to: listening.address)
        unsafe getrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        var none = rlimit(rlim_cur: 3, rlim_max: limit.rlim_max)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &none)
        _ = loop.schedule(at: loop.now + .milliseconds(250), tag: 1, self)
    }

    func timerFired(tag: UInt64) {
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
    }
}

/// The processor time that this thread has used.
private func threadTime() -> Duration {
    var time = timespec()
    unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
    return .seconds(time.tv_sec) + .nanoseconds(time.tv_nsec)
}
@Suite("The name resolver", .timeLimit(.minutes(5)))
struct NameResolverTests {
    @Test("answers a literal address without a lookup")
    func literal() async throws {
        #expect(try await NameResolver.resolve(host: "127.0.0.1", port: 443) == [SocketAddress(loopbackPort: 443)])
        #expect(try await NameResolver.resolve(host: "[::1]", port: 2197) == [SocketAddress(loopbackIPv6Port: 2197)])
    }

    @Test("resolves localhost")
    func localhost() async throws {
        let found = try await NameResolver.resolve(host: "localhost", port: 443)
        #expect(
            found.contains(SocketAddress(loopbackPort: 443)) || found.contains(SocketAddress(loopbackIPv6Port: 443)))
    }

    @Test("reports that a name does not exist")
    func unknown() async throws {
        await #expect(throws: ReactorError.self) {
            try await NameResolver.resolve(host: "no.such.host.invalid", port: 1)
        }
    }
}

@Suite("The blocking pool", .timeLimit(.minutes(5)))
struct BlockingPoolTests {
    @Test("runs more jobs than it has threads")
    func work() async throws {
        let pool = BlockingPool(threadsMax: 2, waitingMax: 1_000)
        let sum = try await withThrowingTaskGroup(of: Int.self) { group in
            for number in 0..<500 { group.addTask { try await pool.run { number } } }
            return try await group.reduce(0, +)
        }
        #expect(sum == 499 * 500 / 2)
    }

    @Test("gives each concurrent job a thread of its own while threads are left")
    func together() async throws {
        let pool = BlockingPool(threadsMax: 32, waitingMax: 32)
        for number in 2...32 {
            // One thread less than that is idle, and each of them waits for all others.
            let meeting = BlockingPoolMeeting(of: number)
            let start = BlockingPoolStart()
            let haveMet = try await withThrowingTaskGroup(of: Bool.self) { group in
                for _ in 0..<number - 2 { group.addTask { try await pool.run { meeting.waitForAll() } } }
                while meeting.come < number - 2 { await Task.yield() }
                for _ in 0..<2 {
                    group.addTask {
                        start.together()
                        return try await pool.run { meeting.waitForAll() }
                    }
                }
                return try await group.reduce(true) { $0 && $1 }
            }
            try #require(haveMet, "\(number) jobs ran at the same time")
        }
    }

    @Test("rejects jobs that exceed its queue")
    func full() async throws {
        let pool = BlockingPool(threadsMax: 1, waitingMax: 1)
        let gate = BlockingPoolGate()
        async let first: Void = pool.run { gate.waitUntilOpen() }
        while !gate.isEntered { await Task.yield() }
        // One of three fits in the queue; the two others return at once.
        let refusals = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<3 {
                group.addTask {
                    do { try await pool.run {} } catch { return error as? ReactorError == .poolIsFull }
                    return false
                }
            }
            var refusals = 0
            for _ in 0..<2 where await group.next() == true { refusals += 1 }
            gate.open()
            return refusals
        }
        try await first
        #expect(refusals == 2)
    }
}
