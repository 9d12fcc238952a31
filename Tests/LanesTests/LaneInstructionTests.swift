import Basis
import CInstructionCounter
import Lanes
import ProviderInterface
import Reactor
import Synchronization
import Testing

/// Measures the cost of a push on its lane's thread, from its batch to its answer, in instructions outside the kernel.
/// Each instruction is counted, so the limit holds on every machine that can count.
@Suite(
    "A lane that sends, counted in instructions", .enabled(if: Steps.areCounted, Comment(rawValue: Steps.whyNot)),
    .timeLimit(.minutes(5)))
struct LaneInstructionTests {
    /// The promised limit, including nghttp2, OpenSSL and Swift's runtime. A push takes 16,000 instructions if answers
    /// come together, and half as many more if a busy machine wakes the lane for each answer.
    private static let perPushMax = 27_000.0
    /// The lane's buffers have reached their final size after this many answers.
    private static let warmUp = 5_000
    /// The fixed cost of a batch is in both measurements, so the difference excludes it.
    private static let few = 5
    private static let many = 20

    @Test("counts the instructions of a known loop exactly", arguments: [1, 2, 50])
    func exact(rounds: Int) { #expect(instructions_of_loop(rounds) == 7 * rounds) }

    @Test("takes no more instructions per push than promised, with an id and a collapse id")
    func instructions() async throws {
        var script = PeerScript()
        script.onRequest = { [.respond(status: 200, id: $0.id)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer, authorization: Bearer()) { settings in
            settings.connectionsMax = 1
            settings.streamsAtStart = 1_000
            // A single step takes microseconds, so the deadlines are too long to be reached.
            settings.requestDeadline = Self.never
            settings.pingAfter = Self.never
            settings.staleAfter = Self.never
        }
        bench.lane.submit(Self.batch(Self.warmUp), ticket: BatchTicket(1), sink: bench.sink)
        #expect(await bench.sink.answers(Self.warmUp).count(of: .accepted) == Self.warmUp)
        let one = await Self.instructions(Self.few, bench, BatchTicket(2))
        let other = await Self.instructions(Self.many, bench, BatchTicket(3))
        let perPush = Double(other - one) / Double(Self.many - Self.few)
        print("a push over the wire takes \(Int(perPush)) instructions on its lane's thread")
        #expect(perPush <= Self.perPushMax, "\(perPush) instructions for each push")
        #expect(perPush > 0, "the machine counted no instructions")
        await bench.finish()
        peer.stop()
    }

    private static let never: Duration = .seconds(3_600)

    private static func instructions(_ pushes: Int, _ bench: Bench, _ ticket: BatchTicket) async -> Int {
        let (batch, sink) = (batch(pushes), SteppedSink(until: pushes))
        bench.loop.perform { [lane = bench.lane] in
            sink.begin()
            lane.submit(batch, ticket: ticket, sink: sink)
        }
        return await sink.instructions()
    }

    /// Makes a batch of usual size: bodies of 200 bytes with a badge in the middle.
    private static func batch(_ pushes: Int) -> PushBatch {
        var bytes: [UInt8] = []
        func append(_ text: String) -> ByteRange {
            let start = bytes.count
            bytes += text.utf8
            return ByteRange(start: start, count: bytes.count - start)
        }
        let requests = (0..<pushes).map { place in
            let digits = String(1_000_000_000_000_000 + place * 7_919)
            return PushBatch.Request(
                tag: Int32(place), path: append("/3/device/" + String(repeating: digits, count: 4)),
                id: append("01920000-0000-8000-8000-" + digits.suffix(12)), body: append(String(place % 100)))
        }
        let fields = [
            ("apns-topic", "com.example.garden"), ("apns-push-type", "alert"), ("apns-priority", "10"),
            ("apns-expiration", "1893456000"), ("apns-collapse-id", "0192000000008000"),
        ]
        let alert = #"{"aps":{"alert":{"title":"Carillon","body":"Twelve o'clock in the garden, and the roses bloom"},"#
        return PushBatch(
            idHeader: Array("apns-id".utf8),
            sharedFields: fields.map { .init($0, $1.utf8) },
            bytes: bytes,
            frames: [
                .init(
                    prefix: Array((alert + #""badge":"#).utf8),
                    suffix: Array(#","sound":"default"},"article":"42","section":"weather and tides"}"#.utf8))
            ], requests: requests, noStreamAfter: Clocks.monotonicNow() + never)
    }
}

enum Steps {
    #if DEBUG
        static let areCounted = false
        static let whyNot = "without the optimiser a push takes many times as many instructions"
    #else
        static let areCounted = instructions_can_be_counted()
        static let whyNot = "this machine cannot stop a thread after each instruction (the trap flag of x86-64)"
    #endif
}

/// A provider token as long as one for APNs.
private struct Bearer: AuthorizationSource {
    let current: Authorization? = Authorization(
        value: Array(("bearer " + String(repeating: "e", count: 242)).utf8), generation: 1)
}

/// Counts instructions on the lane's thread until the last answer is delivered.
private final class SteppedSink: AnswerSink {
    private struct State {
        var answered = 0
        var start = 0
        var instructions = 0
    }

    private let state = Mutex(State())
    private let count: Int
    private let terminalStatus: AsyncStream<Void>
    private let isOver: AsyncStream<Void>.Continuation

    init(until count: Int) {
        self.count = count
        (terminalStatus, isOver) = AsyncStream.makeStream()
    }

    func begin() {
        state.withLock { $0.start = instructions_of_this_thread() }
        begin_counting_instructions()
    }

    func deliver(_ answers: AnswerBatch) {
        let isLast = state.withLock { state in
            state.answered += answers.answers.count
            state.instructions = instructions_of_this_thread() - state.start
            return state.answered == count
        }
        guard isLast else { return }
        end_counting_instructions()
        isOver.finish()
    }

    func instructions() async -> Int {
        for await _ in terminalStatus {}
        return state.withLock { $0.instructions }
    }
}
