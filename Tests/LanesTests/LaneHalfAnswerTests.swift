import Lanes
import ProviderInterface
import TestSupport
import Testing

@Suite("A lane whose answer breaks off", .timeLimit(.minutes(5)))
struct LaneHalfAnswerTests {
    /// HEADERS that open an answer on the connection's first stream, and don't end it. Source: RFC 9113, section 6.2.
    private static let head: [UInt8] = [0, 0, 1, 1, 4, 0, 0, 0, 1]
    /// `:status` 200 and 500 in HPACK's static table, each as an indexed field. Source: RFC 7541, appendix A.
    private static let (ok, internalError): (UInt8, UInt8) = (0x88, 0x8e)

    private func answer(
        breakingOffAfter status: UInt8, rules: AnswerRules = AnswerRules()
    ) async throws -> [Answer.Kind] {
        var script = PeerScript()
        script.onRequest = { _ in [.raw(Self.head + [status]), .afterPing([.cut])] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.answerRules = rules }
        bench.submit(0..<1)
        let answers = await bench.sink.answers(1)
        await bench.finish()
        peer.stop()
        return answers
    }

    @Test("counts the push as accepted after a status of 200, so that it is not shown twice")
    func success() async throws {
        #expect(try await answer(breakingOffAfter: Self.ok).count(of: .accepted) == 1)
    }

    @Test("reports the push as unknown after a 200 whose body has to say that it was accepted")
    func successInBody() async throws {
        let rules = AnswerRules(successIsInBody: true)
        #expect(try await answer(breakingOffAfter: Self.ok, rules: rules) == [.unknown(.connectionLost)])
    }

    @Test("reports the push as unknown if a success is in a body that is longer than what is read")
    func tooLong() async throws {
        var script = PeerScript()
        script.onRequest = { _ in [.respond(status: 200, body: [UInt8](repeating: 0x20, count: 65))] }
        let peer = try await Peer(script)
        for (bytesMax, kind) in [(64, .unknown(.protocolViolation)), (65, nil)] as [(Int, Answer.Kind?)] {
            let bench = try Bench(peer) {
                $0.answerRules = AnswerRules(successIsInBody: true, bodyBytesMax: bytesMax)
            }
            bench.submit(0..<1)
            let answers = await bench.sink.answers(1)
            await bench.finish()
            #expect(kind.map { answers == [$0] } ?? (answers.first?.status == 200))
        }
        peer.stop()
    }

    @Test("counts the push as accepted if a 200 answer never ends, and as unknown after a 500")
    func endless() async throws {
        for (status, isAccepted) in [(Self.ok, true), (Self.internalError, false)] {
            var script = PeerScript()
            script.onRequest = { _ in [.raw(Self.head + [status])] }
            let peer = try await Peer(script)
            let bench = try Bench(peer) { $0.times.requestDeadline = .milliseconds(300) }
            bench.submit(0..<1)
            let answers = await bench.sink.answers(1)
            await bench.finish()
            peer.stop()
            #expect(isAccepted ? answers.count(of: .accepted) == 1 : answers == [.unknown(.deadlinePassed)])
        }
    }

    @Test("keeps sending to a peer whose 200 answers never end")
    func endlessForAll() async throws {
        var script = PeerScript()
        script.onRequest = { request in [.raw(Self.head.dropLast() + [UInt8(request.streamID), Self.ok])] }
        let peer = try await Peer(script)
        let bench = try Bench(peer) { $0.times.requestDeadline = .milliseconds(100) }
        for number in 0..<4 as Range<Int32> {
            bench.submit(number..<number + 1, ticket: UInt64(number) + 1)
            #expect(await bench.sink.answers(Int(number) + 1).count(of: .accepted) == Int(number) + 1)
        }
        #expect(bench.observer.changes.isEmpty, "the peer is not reported as unreachable")
        await bench.finish()
        peer.stop()
    }

    @Test("reports the push as unknown after any other status")
    func refusal() async throws {
        #expect(try await answer(breakingOffAfter: Self.internalError) == [.unknown(.connectionLost)])
    }
}
