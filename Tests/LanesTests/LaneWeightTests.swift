import Basis
import Lanes
import ProviderInterface
import Reactor
import TestSupport
import Testing

@Suite("A request of several members on a lane with a pace", .timeLimit(.minutes(5)))
struct LaneWeightTests {
    private static let weight: Int32 = 1_000

    private static let batch: PushBatch = {
        let one = Bench.batch(0..<1, noStreamAfter: Clocks.monotonicNow() + .seconds(60))
        return PushBatch(
            idHeader: one.idHeader, sharedFields: one.sharedFields, bytes: one.bytes,
            requests: one.requests.map {
                PushBatch.Request(tag: 0, weight: weight, path: $0.path, id: $0.id, body: $0.body)
            },
            members: Array(0..<weight), noStreamAfter: one.noStreamAfter)
    }()

    /// Sends one request, and returns how many pushes the pace lets leave afterwards.
    private func room(afterAnswer status: Int, _ rules: AnswerRules) async throws -> Int {
        var script = PeerScript()
        script.onRequest = { _ in [.respond(status: status)] }
        let peer = try await Peer(script)
        // It takes minutes to pay for a thousand pushes.
        let pace = ProviderPace(perMinute: 60)
        let bench = try Bench(peer) {
            $0.pace = pace
            $0.answerRules = rules
        }
        bench.lane.submit(Self.batch, ticket: BatchTicket(1), sink: bench.sink)
        #expect(await bench.sink.answers(1).first?.status == UInt16(status))
        await bench.finish()
        peer.stop()
        return pace.room(Clocks.monotonicNow())
    }

    @Test("weighs as much as it has members")
    func weight() async throws {
        #expect(try await room(afterAnswer: 200, AnswerRules()) < -800)
    }

    @Test("weighs nothing if its provider does not count answers with that status")
    func uncounted() async throws {
        #expect(try await room(afterAnswer: 503, AnswerRules(uncountedStatuses: [503])) > 0)
        #expect(try await room(afterAnswer: 429, AnswerRules(uncountedStatuses: [503])) < -800)
    }

    @Test("comes back with its answer, and so do all members")
    func answered() async throws {
        let peer = try await Peer()
        let bench = try Bench(peer)
        let answers = await withCheckedContinuation { continuation in
            bench.lane.submit(
                Self.batch, ticket: BatchTicket(1), sink: OneDelivery { continuation.resume(returning: $0) })
        }
        #expect(answers.members == Array(0..<Self.weight) && answers.answers.map(\.weight) == [Self.weight])
        await bench.finish()
        peer.stop()
    }
}

private final class OneDelivery: AnswerSink {
    private let take: @Sendable (AnswerBatch) -> Void

    init(_ take: @escaping @Sendable (AnswerBatch) -> Void) { self.take = take }

    func deliver(_ answers: AnswerBatch) { take(answers) }
}
