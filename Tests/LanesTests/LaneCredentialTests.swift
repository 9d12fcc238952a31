import ProviderInterface
import Reactor
import Synchronization
import TestSupport
import Testing

@Suite("The origin of an answer", .timeLimit(.minutes(5)))
struct AnswerOriginTests {
    @Test("names the connection and the provider token of the request")
    func origin() async throws {
        let peer = try await Peer()
        let tokens = Tokens(7)
        let bench = try Bench(peer, authorization: tokens)
        bench.submit(0..<1)
        _ = await bench.sink.answers(1)
        tokens.change(to: 8)
        bench.submit(1..<2, ticket: 2)
        _ = await bench.sink.answers(2)
        let (first, second) = (bench.sink.origin(0), bench.sink.origin(1))
        #expect(first?.authorization == 7)
        #expect(second?.authorization == 8)
        #expect(first?.connection == second?.connection, "both requests used the same connection")
        bench.lane.replaceConnections()
        bench.submit(2..<3, ticket: 3)
        _ = await bench.sink.answers(3)
        #expect(bench.sink.origin(2)?.connection != first?.connection)
        #expect(bench.sink.origin(2) != nil)
        await bench.finish()
        peer.stop()
    }

    @Test("exists for a request without an answer, but not for one that was never sent")
    func withoutAnswer() async throws {
        var script = PeerScript()
        script.settings.streamLimit = 1
        script.onRequest = { _ in [] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) {
            $0.limits.connectionsMax = 1
            $0.times.requestDeadline = .seconds(3)
        }
        bench.submit(0..<2)
        while peer.log.paths.isEmpty { await Task.yield() }
        bench.lane.withdraw(BatchTicket(1))
        #expect(await bench.sink.answers(2) == [.unknown(.deadlinePassed), .unsent(.withdrawn)])
        #expect(bench.sink.origin(0) != nil)
        #expect(bench.sink.origin(0)?.authorization == nil)
        #expect(bench.sink.origin(1) == nil)
        await bench.finish()
        peer.stop()
    }
}

@Suite("A lane whose connections are retired one by one", .timeLimit(.minutes(5)))
struct LaneRetireTests {
    @Test("answers the requests of a retired connection, closes it, and dials another")
    func retire() async throws {
        var script = PeerScript()
        script.onRequest = { $0.connection == 1 && $0.number == 2 ? [] : [.respond(status: 200)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.times.requestDeadline = .seconds(4) }
        bench.submit(0..<1)
        _ = await bench.sink.answers(1)
        bench.submit(1..<2, ticket: 2)
        while peer.log.requests(on: 1) < 2 { await Task.yield() }
        let origin = try #require(bench.sink.origin(0))
        bench.lane.retire(origin.connection)
        bench.submit(2..<12, ticket: 3)
        let answers = await bench.sink.answers(12)
        #expect(answers.count(of: .accepted) == 11)
        #expect(answers[1] == .unknown(.deadlinePassed), "the request passed its deadline")
        #expect(peer.log.requests(on: 1) == 2)
        #expect(peer.log.requests(on: 2) == 10)
        await peer.log.wait { connections, open in connections == 2 && open == 1 }
        bench.lane.retire(origin.connection)
        #expect(bench.observer.changes.isEmpty)
        await bench.finish()
        peer.stop()
    }

    @Test("replaces connections whose provider token is not the current one, newer or older")
    func replaced() async throws {
        let peer = try await Peer()
        let tokens = Tokens(5)
        let bench = try Bench(peer, authorization: tokens)
        var tag: Int32 = 0
        for (generation, connections) in [(5, 1), (6, 2), (4, 3)] as [(UInt64, Int)] {
            tokens.change(to: generation)
            bench.lane.replaceConnections()
            bench.submit(tag..<tag + 1, ticket: generation)
            tag += 1
            _ = await bench.sink.answers(Int(tag))
            #expect(peer.log.connections == connections)
        }
        tokens.change(to: nil)
        bench.lane.replaceConnections()
        await peer.log.wait { connections, open in connections == 4 && open == 1 }
        tokens.change(to: 4)
        bench.submit(tag..<tag + 1, ticket: 9)
        #expect(await bench.sink.answers(Int(tag) + 1).count(of: .accepted) == 4)
        #expect(peer.log.requests(on: 4) == 1)
        await bench.finish()
        peer.stop()
    }
}

@Suite("A lane whose provider token is refused in an answer", .timeLimit(.minutes(5)))
struct LaneRefusedTokenTests {
    /// Makes a peer that refuses every push until the flag is set.
    private func peer(_ repaired: SharedFlag) async throws -> Peer {
        var script = PeerScript()
        let body = Array(#"{"reason":"InvalidProviderToken"}"#.utf8)
        script.onRequest = { _ in [repaired.value ? .respond(status: 200) : .respond(status: 403, body: body)] }
        return try await Peer(script)
    }

    /// Makes a sink that reports each refusal to the lane, as the delivery engine does.
    private func sink(_ bench: Bench) -> Sink {
        let lane = bench.lane
        return Sink { answer in
            if answer.kind.status == 403 {
                lane.refuseCredential(reason: "InvalidProviderToken", receivedOn: answer.origin?.connection)
            }
        }
    }

    @Test("returns waiting pushes at once, reports the refusal, and tries one request per retry")
    func refused() async throws {
        let repaired = SharedFlag(false)
        let peer = try await peer(repaired)
        let bench = try Bench(peer, authorization: Tokens(1)) { $0.limits.provenAfter = .milliseconds(50) }
        let sink = sink(bench)
        bench.submit(0..<2_000, sink: sink)
        let first = await sink.answers(2_000)
        #expect(first.count(of: .unsent(.tlsRefused)) > 0)
        #expect(first.allSatisfy { $0.status == 403 || $0 == .unsent(.tlsRefused) })
        #expect(bench.observer.changes == [false])
        #expect(bench.observer.events.contains(.credentialRefused(reason: "InvalidProviderToken")))
        for round in 1...2 as ClosedRange<Int32> {
            let (before, requests) = (peer.log.connections, peer.log.paths.count)
            bench.lane.retry()
            await bench.observer.wait { _, changes in changes.count == 2 * Int(round) }
            #expect(bench.observer.changes.last == true)
            bench.submit((round * 10_000)..<(round * 10_000 + 1), ticket: UInt64(round) + 1, sink: sink)
            let answer = await sink.answers(2_000 + Int(round)).last
            #expect((answer?.status == 403 ? 1 : 0) == peer.log.paths.count - requests)
            await bench.observer.wait { _, changes in changes.count == 2 * Int(round) + 1 }
            let tries = ((before + 1)...peer.log.connections).map { peer.log.requests(on: $0) }
            // On a busy machine a handshake may time out and start again.
            #expect(tries.allSatisfy { $0 <= 1 } && tries.contains(1), "each retry sends at most one request")
            #expect(bench.observer.changes.last == false)
        }
        repaired.value = true
        bench.lane.retry()
        await bench.observer.wait { _, changes in changes.count == 6 }
        bench.submit(50_000..<50_500, ticket: 9, sink: sink)
        #expect(await sink.answers(2_502).suffix(500).count(of: .accepted) == 500)
        #expect(bench.observer.changes.count == 6)
        await bench.finish()
        peer.stop()
    }

    @Test("retires every connection, and lets requests in flight finish")
    func inFlight() async throws {
        var script = PeerScript()
        script.settings.streamLimit = 1
        script.onRequest = { $0.number == 1 ? [.respond(status: 200)] : [] }
        let peer = try await Peer(script)
        let bench = try Bench(peer, authorization: Tokens(1)) {
            $0.limits.connectionsMax = 2
            $0.times.requestDeadline = .seconds(5)
        }
        bench.submit(0..<10)
        while peer.log.requests(on: 2) < 2 { await Task.yield() }
        bench.lane.refuseCredential(reason: "Forbidden")
        await bench.observer.wait { _, changes in changes == [false] }
        let answers = await bench.sink.answers(10)
        #expect(answers.count(of: .accepted) == 2)
        #expect(answers.count(of: .unsent(.tlsRefused)) == 6)
        #expect(answers.count(of: .unknown(.deadlinePassed)) == 2)
        await peer.log.wait { connections, open in connections >= 2 && open == 0 }
        await bench.finish()
        peer.stop()
    }
}
