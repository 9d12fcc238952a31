import Basis
import LaneRules
import Lanes
import Model
import ProviderInterface
import Reactor
import Synchronization
import TestSupport
import Testing

@Suite("A lane with a healthy peer", .timeLimit(.minutes(5)))
struct LaneDeliveryTests {
    @Test("delivers every request once, with its path and its answer")
    func delivers() async throws {
        let peer = try await Peer()
        let bench = try Bench(peer)
        bench.submit(0..<5_000)
        let answers = await bench.sink.answers(5_000)
        #expect(answers.count(of: .accepted) == 5_000)
        #expect(peer.log.paths.sorted() == (0..<5_000).map { "/3/device/\($0)" }.sorted())
        await bench.finish()
        peer.stop()
    }

    @Test("wraps each body in the frame that bodies of its form share")
    func sharedBody() async throws {
        let bodies = Mutex<[String: String]>([:])
        var script = PeerScript()
        script.onRequest = { request in
            bodies.withLock { $0[request.path] = String(decoding: request.body, as: UTF8.self) }
            return [.respond(status: 200)]
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer)
        let plain = Bench.batch(0..<1_000, noStreamAfter: Clocks.monotonicNow() + .seconds(60))
        let batch = PushBatch(
            idHeader: plain.idHeader, sharedFields: plain.sharedFields, bytes: plain.bytes,
            frames: [
                PushBatch.BodyFrame(),
                PushBatch.BodyFrame(prefix: Array(#"{"before":"#.utf8), suffix: Array(#","after":1}"#.utf8)),
            ],
            requests: plain.requests.map { request in
                PushBatch.Request(
                    tag: request.tag, path: request.path, id: request.id, frame: request.tag % 2, body: request.body)
            }, noStreamAfter: plain.noStreamAfter)
        bench.lane.submit(batch, ticket: BatchTicket(1), sink: bench.sink)
        #expect(await bench.sink.answers(1_000).count(of: .accepted) == 1_000)
        let expected = (0..<1_000).map { tag in
            let own = #"{"aps":{"alert":"Twelve o'clock","badge":\#(tag)}}"#
            return ("/3/device/\(tag)", tag % 2 == 0 ? own : #"{"before":\#(own),"after":1}"#)
        }
        #expect(bodies.withLock { $0 } == Dictionary(uniqueKeysWithValues: expected))
        await bench.finish()
        peer.stop()
    }

    @Test("starts with one stream, and uses all that the peer allows after the first answer")
    func startsWithOne() async throws {
        var script = PeerScript()
        script.settings.streamLimit = 1
        script.onRequest = { request in
            let raise: [PeerAct] = request.number == 1 ? [.settings(streamsMax: 500)] : []
            return [.respond(status: request.number == 1 ? (request.openStreams == 1 ? 200 : 500) : 200)] + raise
        }
        let peer = try await Peer(script)
        let bench = try Bench(peer, authorization: Tokens(1))
        bench.submit(0..<2_000)
        #expect(await bench.sink.answers(2_000).count(of: .accepted) == 2_000)
        #expect(peer.log.authorizations.allSatisfy { $0 == "bearer token-1" })
        await bench.finish()
        peer.stop()
    }

    @Test("reads 2,500 rejections with bodies on one connection")
    func rejections() async throws {
        let body = Array(#"{"reason":"BadDeviceToken","filler":"\#(String(repeating: "x", count: 1_000))"}"#.utf8)
        var script = PeerScript()
        script.onRequest = { _ in [.respond(status: 400, body: body, retryAfter: "7")] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.limits.connectionsMax = 1 }
        bench.submit(0..<2_500)
        let answers = await bench.sink.answers(2_500)
        #expect(answers.allSatisfy { $0.status == 400 })
        #expect((0..<2_500).allSatisfy { bench.sink.body($0) == body })
        #expect(peer.log.connections == 1)
        await bench.finish()
        peer.stop()
    }

    @Test("sends within its pace, and can return the pushes that wait")
    func pace() async throws {
        let peer = try await Peer()
        // The pace allows a hundred pushes a second, and ten at once at the start.
        let bench = try Bench(peer) { $0.pace = ProviderPace(perMinute: 6_000) }
        bench.submit(0..<5_000, ticket: 1)
        _ = await bench.sink.answers(12)
        bench.lane.withdraw(BatchTicket(1))
        let answers = await bench.sink.answers(5_000)
        #expect(answers.count(of: .unsent(.withdrawn)) >= 2_500)
        #expect(answers.count(of: .accepted) >= 12)
        await bench.finish()
        peer.stop()
    }

    @Test("counts no throttled push against its pace")
    func throttledPace() async throws {
        var script = PeerScript()
        script.onRequest = { _ in [.respond(status: 429)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) {
            $0.pace = ProviderPace(perMinute: 6_000)
            $0.answerRules = AnswerRules(uncountedStatuses: [429])
        }
        // If they counted against the pace, at most fifteen hundred pushes would leave in that time.
        bench.submit(0..<2_000, noStreamAfter: .seconds(15))
        #expect(await bench.sink.answers(2_000).allSatisfy { $0.status == 429 })
        await bench.finish()
        peer.stop()
    }

    @Test("shares the pace with the other lanes of its project")
    func sharedPace() async throws {
        let peer = try await Peer()
        // The two lanes together may send ten at once at the start, and ten more in the first second.
        let pace = ProviderPace(perMinute: 6_000)
        let benches = try [Bench(peer) { $0.pace = pace }, Bench(peer) { $0.pace = pace }]
        let start = Clocks.monotonicNow()
        for bench in benches { bench.submit(0..<5_000, ticket: 1) }
        for bench in benches { _ = await bench.sink.answers(12) }
        #expect(Clocks.monotonicNow() - start >= .seconds(1))
        for bench in benches {
            bench.lane.withdraw(BatchTicket(1))
            let answers = await bench.sink.answers(5_000)
            #expect(answers.count(of: .accepted) >= 12)
            #expect(answers.count(of: .unsent(.withdrawn)) >= 2_500)
            await bench.finish()
        }
        peer.stop()
    }

    @Test("divides its pace by the number of processes, which it learns once a second")
    func sharedQuota() async throws {
        let peer = try await Peer()
        let beats = Mutex(0)
        let pace = ProviderPace(perMinute: 6_000) {
            beats.withLock { $0 += 1 }
            return 6
        }
        let bench = try Bench(peer) { $0.pace = pace }
        let start = Clocks.monotonicNow()
        bench.submit(0..<1_000, ticket: 1)
        // Alone, it would send thirty in two seconds: ten at once, and the others at a tenth of a hundred a second.
        _ = await bench.sink.answers(20)
        let passed = Clocks.monotonicNow() - start
        let told = beats.withLock { $0 }
        bench.lane.withdraw(BatchTicket(1))
        #expect(await bench.sink.answers(1_000).count(of: .accepted) >= 20)
        #expect(passed >= .milliseconds(2_500))
        // A busy machine asks less often.
        #expect((1...Int(passed.components.seconds) + 3).contains(told))
        await bench.finish()
        peer.stop()
    }

    @Test("lets a single push pass an earlier broadcast")
    func alternates() async throws {
        var script = PeerScript()
        script.settings.streamLimit = 10
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.limits.connectionsMax = 1 }
        bench.submit(0..<20_000, ticket: 1)
        bench.submit(50_000..<50_001, ticket: 2)
        _ = await bench.sink.answers(20_001)
        let place = try #require(bench.sink.order.firstIndex(of: 50_000))
        #expect(place < 1_000)
        await bench.finish()
        peer.stop()
    }

    @Test("gives the next request within its pace to an urgent push, however many batches wait")
    func urgentWithinPace() async throws {
        let peer = try await Peer()
        // The pace allows a hundred pushes a second, and ten at once at the start.
        let bench = try Bench(peer) { $0.pace = ProviderPace(perMinute: 6_000) }
        for ticket in 1...500 as ClosedRange<Int32> {
            bench.submit(ticket * 10..<ticket * 10 + 10, ticket: UInt64(ticket))
        }
        _ = await bench.sink.answers(12)
        let urgent = Sink()
        bench.submit(0..<1, ticket: 501, isUrgent: true, sink: urgent)
        #expect(await urgent.answers(1) == [.accepted])
        #expect(bench.sink.order.count < 200)
        for ticket in 1...500 as ClosedRange<UInt64> { bench.lane.withdraw(BatchTicket(ticket)) }
        _ = await bench.sink.answers(5_000)
        await bench.finish()
        peer.stop()
    }

    @Test("grows while every stream is taken, and stops at its connection limit")
    func grows() async throws {
        var script = PeerScript()
        script.settings.streamLimit = 2
        // The first two connections answer one request each, and keep their other streams open forever.
        script.onRequest = { $0.connection < 3 && $0.number > 1 ? [] : [.respond(status: 200)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) {
            $0.limits.connectionsMax = 3
            // A connection with late answers would be replaced while still open, which would add to the count.
            $0.times.requestDeadline = .seconds(100)
        }
        // The third connection needs much longer for these pushes than the lane needs to want a fourth one.
        bench.submit(0..<10_000)
        #expect(await bench.sink.answers(9_996).count(of: .accepted) == 9_996)
        #expect(peer.log.mostOpenConnections == 3)
        peer.stop()
        #expect(await bench.sink.answers(10_000).count(of: .unknown(.connectionLost)) == 4)
        await bench.finish()
    }

    @Test("closes idle connections beyond the warm one")
    func idle() async throws {
        var script = PeerScript()
        script.settings.streamLimit = 1
        script.onRequest = { $0.number == 2 && $0.connection == 1 ? [] : [.respond(status: 200)] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) {
            $0.limits.connectionsMax = 2
            $0.times.requestDeadline = .seconds(1)
            $0.limits.idleClose = .milliseconds(200)
        }
        bench.submit(0..<50)
        _ = await bench.sink.answers(50)
        await peer.log.wait { connections, open in connections >= 2 && open == 1 }
        await bench.finish()
        peer.stop()
    }

    @Test("presents its certificate if that is its credential")
    func certificate() async throws {
        var script = PeerScript()
        script.clientCertificates = .requested
        let peer = try await Peer(script)
        let bench = try Bench(peer, identity: PeerWorld.shared.client("com.example.app"))
        bench.submit(0..<10)
        #expect(await bench.sink.answers(10).count(of: .accepted) == 10)
        #expect(peer.log.topics == ["com.example.app"])
        #expect(peer.log.authorizations.allSatisfy { $0.isEmpty })
        await bench.finish()
        peer.stop()
    }

    @Test("opens its connection before the first push if it is asked to")
    func warm() async throws {
        let peer = try await Peer()
        let bench = try Bench(peer)
        bench.lane.warmUp()
        await bench.observer.wait { events, _ in events.contains(.connected) }
        #expect(peer.log.connections == 1)
        await bench.finish()
        peer.stop()
    }

    @Test("sends GOAWAY to its peer after the last answer when it is drained")
    func drains() async throws {
        let peer = try await Peer()
        let bench = try Bench(peer)
        bench.submit(0..<100)
        _ = await bench.sink.answers(100)
        await bench.lane.drain()
        await peer.log.wait { _, open in open == 0 }
        #expect(peer.log.goAways == 1)
        bench.submit(100..<110, ticket: 2)
        let answers = await bench.sink.answers(110)
        #expect(answers.count(of: .unsent(.withdrawn)) == 10)
        bench.loop.stop()
        peer.stop()
    }
}

@Suite("A lane over both address families", .timeLimit(.minutes(5)))
struct LaneAddressTests {
    @Test("delivers over IPv6")
    func ipv6() async throws {
        let peer = try await Peer(on: .init(loopbackIPv6Port: 0))
        let bench = try Bench(peer)
        bench.submit(0..<10)
        #expect(await bench.sink.answers(10).count(of: .accepted) == 10)
        await bench.finish()
        peer.stop()
    }

    @Test("tries the next address if one refuses")
    func fallback() async throws {
        let peer = try await Peer()
        let gone = try await Peer(on: .init(loopbackIPv6Port: 0))
        let dead = gone.address
        gone.stop()
        let bench = try Bench([dead, dead.replacingPort(1), peer.address])
        bench.submit(0..<10)
        #expect(await bench.sink.answers(10).count(of: .accepted) == 10)
        await bench.finish()
        peer.stop()
    }
}

@Suite("A batch that its owner withdraws or bounds in time", .timeLimit(.minutes(5)))
struct LaneWithdrawalTests {
    /// Makes a peer that allows one stream and answers no request.
    private func slowPeer() async throws -> Peer {
        var script = PeerScript()
        script.settings.streamLimit = 1
        script.onRequest = { _ in [] }
        return try await Peer(script)
    }

    @Test("returns pushes without a stream at once, and answers those in flight")
    func withdraw() async throws {
        let peer = try await slowPeer()
        let bench = try Bench(peer) {
            $0.limits.connectionsMax = 1
            $0.times.requestDeadline = .seconds(4)
        }
        bench.submit(0..<100)
        await peer.log.wait { connections, _ in connections == 1 }
        while peer.log.paths.isEmpty { await Task.yield() }
        bench.lane.withdraw(BatchTicket(1))
        let answers = await bench.sink.answers(100)
        #expect(answers.count(of: .unsent(.withdrawn)) == 99)
        #expect(answers.count(of: .unknown(.deadlinePassed)) == 1)
        await bench.finish()
        peer.stop()
    }

    @Test("opens no stream after its time limit")
    func late() async throws {
        let peer = try await slowPeer()
        let bench = try Bench(peer) {
            $0.limits.connectionsMax = 1
            $0.times.requestDeadline = .seconds(1)
        }
        let short = Sink()
        bench.submit(0..<10, ticket: 1, noStreamAfter: .milliseconds(100), sink: short)
        // One stream opens per second.
        bench.submit(10..<15, ticket: 2, noStreamAfter: .seconds(600))
        let handedBack = await short.answers(10)
        #expect(handedBack.count(of: .unsent(.withdrawn)) >= 9)
        let patient = await bench.sink.answers(5)
        #expect(patient.count(of: .unsent(.withdrawn)) == 0)
        await bench.finish()
        peer.stop()
    }
}
