import LaneRules
import Reactor
import Synchronization
import TLS
import TestSupport
import Testing

@Suite("A lane whose peer cannot be reached", .timeLimit(.minutes(5)))
struct UnreachableLaneTests {
    @Test("returns requests, reports the outage, and recovers by itself")
    func portClosed() async throws {
        let first = try await Peer()
        let address = first.address
        first.stop()
        let bench = try Bench([address])
        bench.submit(0..<10)
        #expect(await bench.sink.answers(10).count(of: .unsent(.unreachable)) == 10)
        #expect(bench.observer.changes == [false])
        bench.submit(10..<20, ticket: 2)
        #expect(await bench.sink.answers(20).count(of: .unsent(.unreachable)) == 20)
        #expect(bench.lane.census.canSend == false)
        let peer = try await Peer(on: address)
        await bench.observer.wait { _, changes in changes.last == true }
        bench.submit(20..<30, ticket: 3)
        #expect(await bench.sink.answers(30).count(of: .accepted) == 10)
        await bench.finish()
        peer.stop()
    }

    @Test("returns requests if the peer accepts connections and never sends a byte")
    func mute() async throws {
        var script = PeerScript()
        script.isMute = true
        let peer = try await Peer(script)
        let bench = try Bench(peer) {
            $0.times.dialDeadline = .milliseconds(100)
            $0.unreachableAfter = .seconds(30)
        }
        bench.submit(0..<10)
        #expect(await bench.sink.answers(10).count(of: .unsent(.unreachable)) == 10)
        await bench.finish()
        peer.stop()
    }

    @Test("returns requests at its time limit even before it is blocked")
    func timeout() async throws {
        var script = PeerScript()
        script.isMute = true
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.unreachableAfter = .milliseconds(100) }
        bench.submit(0..<10)
        #expect(await bench.sink.answers(10).count(of: .unsent(.unreachable)) == 10)
        #expect(bench.observer.changes.isEmpty)
        await bench.finish()
        peer.stop()
    }

    @Test("stays blocked while the peer opens connections but allows no stream")
    func noStreams() async throws {
        var script = PeerScript()
        script.settings.streamLimit = 0
        let closed = try await Peer(script)
        let bench = try Bench(closed) { $0.unreachableAfter = .milliseconds(200) }
        bench.submit(0..<10)
        #expect(await bench.sink.answers(10).count(of: .unsent(.unreachable)) == 10)
        await bench.observer.wait { _, changes in changes == [false] }
        closed.stop()
        let peer = try await Peer(on: closed.address)
        await bench.observer.wait { _, changes in changes.last == true }
        bench.submit(10..<20, ticket: 2)
        #expect(await bench.sink.answers(20).count(of: .accepted) == 10)
        await bench.finish()
        peer.stop()
    }

    @Test("reports that it does not trust the peer's certificate")
    func disbelief() async throws {
        let peer = try await Peer()
        let bench = try Bench([peer.address], trust: PeerWorld().trust())
        bench.submit(0..<10)
        #expect(await bench.sink.answers(10).count(of: .unsent(.tlsRefused)) == 10)
        let reasons = bench.observer.events.compactMap { event in
            if case .tlsRefused(let detail) = event { return detail }
            return nil
        }
        #expect(reasons.first == "certificate not trusted: unknown issuer")
        await bench.finish()
        peer.stop()
    }

    @Test("survives a peer that does not speak TLS", arguments: ["SSH-2.0-OpenSSH_9.2\r\n", "\u{16}\u{3}\u{1}"])
    func noTLS(greeting: String) async throws {
        var script = PeerScript()
        script.greeting = Array(greeting.utf8)
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.times.dialDeadline = .milliseconds(200) }
        bench.submit(0..<10)
        let answers = await bench.sink.answers(10)
        #expect(answers.count(of: .unsent(.tlsRefused)) + answers.count(of: .unsent(.unreachable)) == 10)
        await bench.finish()
        peer.stop()
    }

    @Test("answers every request once if the peer opens and closes each connection")
    func flapping() async throws {
        var script = PeerScript()
        script.onOpen = { _ in [.cut] }
        let peer = try await Peer(script)
        let bench = try Bench(peer)
        bench.submit(0..<10)
        let answers = await bench.sink.answers(10)
        // A connection may have sent requests before it was cut. Those requests may have arrived.
        let unknown = answers.count(of: .unknown(.connectionLost))
        #expect(answers.count(of: .unsent(.unreachable)) + unknown == 10)
        await bench.finish()
        peer.stop()
    }

    @Test("blocks if the peer opens connections and answers no request")
    func answersNothing() async throws {
        var script = PeerScript()
        script.onRequest = { _ in [] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) {
            $0.limits.connectionsMax = 1
            $0.times.requestDeadline = .milliseconds(200)
            $0.limits.provenAfter = .milliseconds(100)
        }
        bench.submit(0..<10)
        bench.submit(10..<500, ticket: 2)
        await bench.observer.wait { _, changes in changes.first == false }
        let answers = await bench.sink.answers(500)
        let unknown = answers.count(of: .unknown(.deadlinePassed))
        #expect(unknown > 0)
        #expect(answers.count(of: .unsent(.unreachable)) == 500 - unknown)
        await bench.finish()
        peer.stop()
    }

    @Test("risks few requests on the next connection after one that only answered PINGs")
    func unanswered() async throws {
        var script = PeerScript()
        script.onRequest = { _ in [] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) {
            $0.limits.connectionsMax = 1
            $0.times.requestDeadline = .seconds(1)
            $0.unreachableAfter = .seconds(10)
        }
        bench.submit(0..<300)
        let answers = await bench.sink.answers(300)
        // The first connection carries its initial number of streams, the next one the minimum after the loss.
        #expect(peer.log.requests(on: 1) == StreamWindow.atStart)
        #expect(peer.log.requests(on: 2) == StreamWindow.floor)
        let lost = answers.count(of: .unknown(.deadlinePassed))
        #expect(lost == (1...peer.log.connections).reduce(0) { $0 + peer.log.requests(on: $1) })
        #expect(answers.count(of: .unsent(.unreachable)) == 300 - lost)
        await bench.finish()
        peer.stop()
    }

    @Test("waits for a provider token within its time limit")
    func noToken() async throws {
        let peer = try await Peer()
        let tokens = Tokens(nil)
        let bench = try Bench(peer, authorization: tokens) { $0.unreachableAfter = .milliseconds(150) }
        bench.submit(0..<10)
        #expect(await bench.sink.answers(10).count(of: .unsent(.unreachable)) == 10)
        let patient = try Bench(peer, authorization: tokens)
        patient.submit(0..<10)
        tokens.change(to: 1)
        #expect(await patient.sink.answers(10).count(of: .accepted) == 10)
        await bench.finish()
        await patient.finish()
        peer.stop()
    }
}
