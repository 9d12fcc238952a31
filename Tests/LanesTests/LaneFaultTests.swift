import Basis
import Lanes
import ProviderInterface
import Reactor
import Synchronization
import TLS
import TestSupport
import Testing

@Suite("A lane whose peer sends GOAWAY", .timeLimit(.minutes(5)))
struct LaneGoAwayTests {
    @Test("loses nothing and repeats nothing with a GOAWAY every 150 requests")
    func polite() async throws {
        var script = PeerScript()
        script.onRequest = {
            $0.number == 150
                ? [.goAway(last: nil, debug: #"{"reason":"Shutdown"}"#), .respond(status: 200)]
                : [.respond(status: 200)]
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer)
        bench.submit(0..<3_000)
        #expect(await bench.sink.answers(3_000).count(of: .accepted) == 3_000)
        #expect(peer.log.paths.sorted() == (0..<3_000).map { "/3/device/\($0)" }.sorted())
        #expect(peer.log.connections >= 20)
        #expect(bench.observer.events.contains(.goAway(reason: "Shutdown")))
        #expect(bench.observer.changes.isEmpty, "a GOAWAY does not block the lane")
        await bench.finish()
        peer.stop()
    }

    @Test("resends the requests above the last stream of a GOAWAY elsewhere")
    func refused() async throws {
        var script = PeerScript()
        // Accepts requests 1 to 50, and says so in a GOAWAY when request 60 arrives.
        script.onRequest = {
            if $0.connection > 1 || $0.number <= 50 { return [.respond(status: 200)] }
            return $0.number == 60 ? [.goAway(last: 99, debug: "")] : []
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer)
        bench.submit(0..<500)
        #expect(await bench.sink.answers(500).count(of: .accepted) == 500)
        await bench.finish()
        peer.stop()
    }

    @Test("handles a shutdown notice that is followed by the final GOAWAY")
    func pair() async throws {
        var script = PeerScript()
        script.onRequest = {
            switch $0.number {
            case 20: [.shutdownNotice, .respond(status: 200)]
            case 30: [.goAway(last: nil, debug: ""), .respond(status: 200)]
            default: [.respond(status: 200)]
            }
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer)
        bench.submit(0..<500)
        #expect(await bench.sink.answers(500).count(of: .accepted) == 500)
        await bench.finish()
        peer.stop()
    }

    @Test("blocks if a GOAWAY refuses the credential, and dials once per retry until it is fixed")
    func credential() async throws {
        let repaired = SharedFlag(false)
        var script = PeerScript()
        script.onOpen = { _ in
            repaired.value ? [] : [.goAway(last: 0, debug: #"{"reason":"BadCertificateEnvironment"}"#)]
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer)
        bench.submit(0..<10)
        #expect(await bench.sink.answers(10).count(of: .unsent(.tlsRefused)) == 10)
        #expect(bench.observer.events.contains(.credentialRefused(reason: "BadCertificateEnvironment")))
        #expect(bench.observer.changes == [false])
        let dials = peer.log.connections
        #expect(dials == 1)
        bench.lane.retry()
        await peer.log.wait { connections, _ in connections == dials + 1 }
        // The credential is refused again: the lane stays blocked, and requests come back at once.
        bench.submit(10..<20, ticket: 2)
        #expect(await bench.sink.answers(20).count(of: .unsent(.tlsRefused)) == 20)
        repaired.value = true
        bench.lane.retry()
        await bench.observer.wait { _, changes in changes.last == true }
        bench.submit(20..<30, ticket: 3)
        #expect(await bench.sink.answers(30).count(of: .accepted) == 10)
        await bench.finish()
        peer.stop()
    }

    @Test("blocks if only the second GOAWAY of a pair refuses the credential")
    func credentialInSecondStep() async throws {
        var script = PeerScript()
        script.onRequest = { _ in
            [
                .shutdownNotice,
                .afterPing([
                    .goAway(last: nil, debug: #"{"reason":"BadCertificateEnvironment"}"#), .respond(status: 200),
                ]),
            ]
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer)
        bench.submit(0..<1)
        #expect(await bench.sink.answers(1).count(of: .accepted) == 1)
        #expect(bench.observer.events.contains(.credentialRefused(reason: "BadCertificateEnvironment")))
        #expect(bench.observer.changes == [false])
        await bench.finish()
        peer.stop()
    }

    @Test("replaces connections that carried an older provider token")
    func replaced() async throws {
        let peer = try await Peer()
        let tokens = Tokens(1)
        let bench = try Bench(peer, authorization: tokens)
        bench.submit(0..<10)
        _ = await bench.sink.answers(10)
        bench.lane.replaceConnections()
        bench.submit(10..<20, ticket: 2)
        _ = await bench.sink.answers(20)
        #expect(peer.log.connections == 1, "the connection has the current token")
        tokens.change(to: 2)
        bench.lane.replaceConnections()
        bench.lane.replaceConnections()
        bench.submit(20..<30, ticket: 3)
        #expect(await bench.sink.answers(30).count(of: .accepted) == 30)
        #expect(peer.log.connections == 2)
        #expect(peer.log.authorizations.suffix(10).allSatisfy { $0 == "bearer token-2" })
        await bench.finish()
        peer.stop()
    }
}

/// A flag that tests and peers share.
final class SharedFlag: Sendable {
    private let flag: Mutex<Bool>
    init(_ value: Bool) { flag = Mutex(value) }
    var value: Bool {
        get { flag.withLock { $0 } }
        set { flag.withLock { $0 = newValue } }
    }
}

@Suite("A lane whose peer misbehaves", .timeLimit(.minutes(5)))
struct LaneFaultTests {
    @Test("reports each stream reset as unknown with its code, and goes on")
    func resets() async throws {
        var script = PeerScript()
        script.onRequest = { $0.number % 97 == 0 ? [.reset(.internalError)] : [.respond(status: 200)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.limits.connectionsMax = 1 }
        bench.submit(0..<970)
        let answers = await bench.sink.answers(970)
        #expect(answers.count(of: .unknown(.streamReset(code: 2))) == 10)
        #expect(answers.count(of: .accepted) == 960)
        await bench.finish()
        peer.stop()
    }

    @Test("retries refused streams a few times, then returns the pushes")
    func refusedStreams() async throws {
        var script = PeerScript()
        script.onRequest = { $0.path.hasSuffix("7") ? [.reset(.refusedStream)] : [.respond(status: 200)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer)
        bench.submit(0..<100)
        let answers = await bench.sink.answers(100)
        #expect(answers.count(of: .unsent(.refusedStream)) == 10)
        #expect(answers.count(of: .accepted) == 90)
        #expect(peer.log.paths.filter { $0 == "/3/device/7" }.count == Int(LaneQueue.refusalsMax))
        await bench.finish()
        peer.stop()
    }

    @Test("reports the requests of a cut connection as unknown, and sends the others on a new one")
    func cut() async throws {
        var script = PeerScript()
        script.onRequest = {
            guard $0.connection == 1, $0.number > 10 else { return [.respond(status: 200)] }
            return $0.number == 40 ? [.cut] : []
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer)
        bench.submit(0..<500)
        let answers = await bench.sink.answers(500)
        let unknown = answers.count(of: .unknown(.connectionLost))
        #expect(unknown >= 30)
        #expect(answers.count(of: .accepted) + unknown == 500)
        await bench.finish()
        peer.stop()
    }

    @Test("risks few requests on a peer that cuts every connection at request 97")
    func cutAgainAndAgain() async throws {
        var script = PeerScript()
        script.onRequest = { $0.number == 97 ? [.cut] : [.respond(status: 200)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.limits.connectionsMax = 2 }
        bench.submit(0..<2_000)
        let answers = await bench.sink.answers(2_000)
        let unknown = answers.count(of: .unknown(.connectionLost))
        #expect(answers.count(of: .accepted) + unknown == 2_000)
        #expect(unknown < 600, "losing everything in flight would lose more than half of the requests")
        #expect(bench.observer.changes.isEmpty, "the lane is not blocked")
        await bench.finish()
        peer.stop()
    }

    @Test("gives up unanswered requests at the deadline, and leaves a peer that answers nothing")
    func silence() async throws {
        var script = PeerScript()
        script.onRequest = { $0.connection == 1 ? [] : [.respond(status: 200)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) {
            $0.limits.connectionsMax = 1
            $0.times.requestDeadline = .seconds(2)
        }
        bench.submit(0..<10)
        let answers = await bench.sink.answers(10)
        #expect(answers.count(of: .unknown(.deadlinePassed)) >= 1)
        #expect(answers.count(of: .accepted) + answers.count(of: .unknown(.deadlinePassed)) == 10)
        await peer.log.wait { connections, _ in connections >= 2 }
        bench.submit(10..<20, ticket: 2)
        #expect(await bench.sink.answers(20).suffix(10).count(of: .accepted) == 10)
        await bench.finish()
        peer.stop()
    }

    @Test("reports requests that waited behind a full socket as unsent")
    func backedUp() async throws {
        var script = PeerScript()
        script.settings.requestHeaderBytesMax = 64_000
        // The peer stops reading at the first long request.
        script.onRequest = { $0.connection == 1 && $0.number > 2_000 ? [.stall] : [.respond(status: 200)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) {
            $0.limits.connectionsMax = 1
            $0.times.requestDeadline = .seconds(4)
            $0.times.pingDeadline = .seconds(1)
        }
        bench.submit(0..<2_000)
        #expect(await bench.sink.answers(2_000).count(of: .accepted) == 2_000)
        let deadline = Clocks.monotonicNow() + .seconds(60)
        bench.lane.submit(
            Bench.batch(2_000..<3_000, noStreamAfter: deadline, padding: 15_000), ticket: BatchTicket(2),
            sink: bench.sink)
        let long = await bench.sink.answers(3_000).suffix(1_000)
        let unsent = long.count(of: .unsent(.deadlinePassed))
        #expect(unsent > 0)
        #expect(long.count(of: .unknown(.deadlinePassed)) > 0)
        #expect(long.count(of: .accepted) + long.count(of: .unknown(.deadlinePassed)) + unsent == 1_000)
        await bench.finish()
        peer.stop()
    }

    @Test("replaces a connection before its stream ids run out")
    func spent() async throws {
        let peer = try await Peer()
        let bench = try Bench(peer) {
            $0.limits.connectionsMax = 1
            $0.streamIDsKept = 1 << 30 - 100
        }
        bench.submit(0..<1_000)
        #expect(await bench.sink.answers(1_000).count(of: .accepted) == 1_000)
        #expect(peer.log.connections >= 5)
        #expect((1...peer.log.connections).allSatisfy { peer.log.requests(on: $0) < 100 + Int(LaneQueue.quantum) })
        await bench.finish()
        peer.stop()
    }

    @Test("detects by PING that its peer is gone, and dials again")
    func stalled() async throws {
        var script = PeerScript()
        script.onRequest = { $0.connection == 1 && $0.number == 3 ? [.stall] : [.respond(status: 200)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) {
            $0.limits.connectionsMax = 1
            $0.times.requestDeadline = .seconds(2)
            $0.times.pingDeadline = .seconds(2)
        }
        bench.submit(0..<50)
        let answers = await bench.sink.answers(50)
        #expect(answers.contains(.unknown(.deadlinePassed)))
        await peer.log.wait { connections, _ in connections >= 2 }
        bench.submit(50..<60, ticket: 2)
        #expect(await bench.sink.answers(60).suffix(10).count(of: .accepted) == 10)
        await bench.finish()
        peer.stop()
    }

    @Test("pings a peer after a long silence before it sends a request")
    func stale() async throws {
        var script = PeerScript()
        script.onRequest = {
            $0.connection == 1 && $0.number == 1 ? [.respond(status: 200), .stall] : [.respond(status: 200)]
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer) {
            $0.times.staleAfter = .milliseconds(100)
            $0.times.pingDeadline = .milliseconds(100)
        }
        bench.submit(0..<1)
        _ = await bench.sink.answers(1)
        let silent = Clocks.monotonicNow() + .milliseconds(150)
        while Clocks.monotonicNow() < silent { await Task.yield() }
        bench.submit(1..<11, ticket: 2)
        #expect(await bench.sink.answers(11).count(of: .accepted) == 11, "no request is lost on the dead connection")
        await bench.finish()
        peer.stop()
    }

    @Test("adapts to a stream limit that drops to one, and to zero for a while")
    func limits() async throws {
        var script = PeerScript()
        script.onRequest = {
            switch $0.number {
            case 50: [.settings(streamsMax: 1), .respond(status: 200)]
            case 80: [.settings(streamsMax: 0), .respond(status: 200), .settings(streamsMax: 4_000_000_000)]
            default: [.respond(status: 200)]
            }
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.limits.connectionsMax = 1 }
        bench.submit(0..<1_000)
        #expect(await bench.sink.answers(1_000).count(of: .accepted) == 1_000)
        await bench.finish()
        peer.stop()
    }

    @Test("returns requests if the stream limit stays at zero")
    func noStreams() async throws {
        var script = PeerScript()
        script.settings.streamLimit = 0
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.unreachableAfter = .milliseconds(200) }
        bench.submit(0..<10)
        #expect(await bench.sink.answers(10).count(of: .unsent(.unreachable)) == 10)
        await bench.finish()
        peer.stop()
    }

    @Test("reports a response with a huge header as unknown, and keeps the connection")
    func hugeHeader() async throws {
        var script = PeerScript()
        script.onRequest = { $0.path.hasSuffix("5") ? [.respondWithHeader(bytes: 60_000)] : [.respond(status: 200)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer)
        bench.submit(0..<100)
        let answers = await bench.sink.answers(100)
        #expect(answers.count(of: .accepted) == 90)
        let unknown = answers.filter { if case .unknown = $0 { true } else { false } }
        #expect(unknown.count == 10)
        #expect(peer.log.connections == 1)
        await bench.finish()
        peer.stop()
    }

    @Test(
        "survives bytes that are no frames, half a frame, and an endless frame",
        arguments: [
            Array("HTTP/1.1 400 Bad Request\r\n\r\n".utf8),
            [0, 0, 8, 4, 0],
            [0xff, 0xff, 0xff, 0, 0, 0, 0, 0, 1] + [UInt8](repeating: 7, count: 4_000),
            [0, 0, 4, 8, 0, 0, 0, 0, 0, 0, 0, 0, 0],
            [0, 0, 1, 1, 4, 0, 0, 0, 1, 0xff],
        ] as [[UInt8]])
    func garbage(bytes: [UInt8]) async throws {
        var script = PeerScript()
        script.onRequest = {
            $0.connection == 1 && $0.number == 5 ? [.raw(bytes), .stall] : [.respond(status: 200)]
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer) {
            $0.times.requestDeadline = .seconds(2)
            $0.times.pingDeadline = .seconds(2)
        }
        bench.submit(0..<100)
        let answers = await bench.sink.answers(100)
        #expect(answers.count == 100)
        bench.submit(100..<110, ticket: 2)
        #expect(await bench.sink.answers(110).suffix(10).count(of: .accepted) == 10)
        await bench.finish()
        peer.stop()
    }
}
