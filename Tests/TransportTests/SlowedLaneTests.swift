import PushModel
import Synchronization
import Testing
import Transport

@Suite("A lane whose provider refuses everything for want of room", .timeLimit(.minutes(5)))
struct SlowedLaneTests {
    private static let pushes: Int32 = 3_000
    /// A lane that heeds nothing has this many refused.
    private static let patience = 2_000

    @Test("sends it nothing for a while, and everything once it is well")
    func rests() async throws {
        let refused = Mutex(0)
        let isWell = Atomic(false)
        var script = PeerScript()
        script.onRequest = { _ in
            let isRefused = refused.withLock { refused in
                guard !isWell.load(ordering: .relaxed), refused < Self.patience else { return false }
                refused += 1
                return true
            }
            return [.respond(status: isRefused ? 503 : 200)]
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.connectionsMax = 1 }
        // As the engine does, which reads what each answer says.
        let lane = bench.lane
        let sink = Sink { answer in
            lane.slowDown(answer.kind.status == 503 ? 1 : 0, of: 1, pause: .milliseconds(300))
        }
        bench.submit(0..<Self.pushes, sink: sink)
        async let answers = sink.answers(Int(Self.pushes))
        await bench.observer.wait { events, _ in
            events.contains { if case .slowedDown = $0 { true } else { false } }
                || refused.withLock { $0 } >= Self.patience
        }
        isWell.store(true, ordering: .relaxed)
        let statuses = await answers.map(\.status)
        #expect(refused.withLock { $0 } < Self.patience / 2)
        #expect(statuses.count { $0 == 503 } == refused.withLock { $0 })
        #expect(statuses.count { $0 == 200 } == Int(Self.pushes) - refused.withLock { $0 })
        await bench.finish()
        peer.stop()
    }
}
