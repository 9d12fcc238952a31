import Basis
import CAllocationCounter
import Lanes
import ProviderInterface
import Reactor
import Synchronization
import TestSupport
import Testing

/// Measures the cost of a push on its lane's thread, from its batch to its answer, in allocations. Allocations are
/// counted, so the limit holds on every machine.
@Suite("A lane that sends continuously", .timeLimit(.minutes(5)))
struct LaneCostTests {
    /// The lane's buffers have reached their final size after this many answers.
    private static let warmUp = 5_000
    private static let pushes = 25_000

    #if DEBUG
        /// Without the optimiser, each call that passes a copy on allocates.
        private static let perPushMax = 300.0
    #else
        /// All allocations are nghttp2's: for each request it allocates a stream, a copy of the given field, and an
        /// item for each of two frames.
        private static let perPushMax = 4.2
    #endif

    @Test("allocates no memory of its own per push, with body pieces or without", arguments: [false, true])
    func allocations(withPieces: Bool) async throws {
        var script = PeerScript()
        script.onRequest = { _ in [.respond(status: 200)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.limits.connectionsMax = 1 }
        let sink = CountingSink(until: Self.pushes)
        let tags = 0..<Int32(Self.pushes)
        let batch =
            withPieces
            ? BodyPatternTests.batch(tags) : Bench.batch(tags, noStreamAfter: Clocks.monotonicNow() + .seconds(60))
        bench.lane.submit(batch, ticket: BatchTicket(1), sink: sink)
        let marks = await sink.marks()
        let first = try #require(marks.first { $0.answered >= Self.warmUp })
        let last = try #require(marks.last)
        let perPush = Double(last.allocations - first.allocations) / Double(last.answered - first.answered)
        #expect(perPush < Self.perPushMax, "\(perPush) allocations for each push")
        await bench.finish()
        peer.stop()
    }
}

/// Reads the count of the lane's thread, where answers are delivered.
private final class CountingSink: AnswerSink {
    struct Mark {
        let answered: Int
        let allocations: Int
    }

    private let state: Mutex<[Mark]>
    private let count: Int
    private let terminalStatus: AsyncStream<Void>
    private let isOver: AsyncStream<Void>.Continuation

    init(until count: Int) {
        self.count = count
        var marks: [Mark] = []
        marks.reserveCapacity(count)
        state = Mutex(marks)
        (terminalStatus, isOver) = AsyncStream.makeStream()
    }

    func deliver(_ answers: AnswerBatch) {
        let answered = state.withLock { marks in
            let answered = (marks.last?.answered ?? 0) + answers.answers.count
            marks.append(Mark(answered: answered, allocations: allocations_of_this_thread()))
            return answered
        }
        if answered >= count { isOver.finish() }
    }

    func marks() async -> [Mark] {
        for await _ in terminalStatus {}
        return state.withLock { $0 }
    }
}
