import Basis
import HTTP2
import Simulator
import Testing

@Suite("A simulator that follows a script", .serialized)
struct ScriptTests {
    /// A connection whose stream limit is open, and a provider token for it.
    private func open(_ faults: [ScriptedFault] = [], delay: Duration = .zero) async throws
        -> (StandIn, Provider, String)
    {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        #expect(try provider.ask(Push(authorization: authorization)).status == 200)
        try provider.waitForLimit(1_000)
        await standIn.simulator.follow(SimulatorScript(answerDelay: delay, faults: faults))
        return (standIn, provider, authorization)
    }

    private func terminalCounts(_ provider: Provider, _ authorization: String, _ count: Int) throws -> [HTTP2Answer
        .Conclusion]
    {
        let tags = try (0..<count).map { _ in try provider.send(Push(authorization: authorization)) }
        return try tags.map { try provider.answer(to: $0).conclusion }
    }

    @Test("delays its answers")
    func late() async throws {
        let (_, provider, authorization) = try await open(delay: .milliseconds(30))
        let before = ContinuousClock.now
        let terminalCounts = try terminalCounts(provider, authorization, 50)
        #expect(terminalCounts.allSatisfy { $0 == .complete })
        #expect(ContinuousClock.now - before >= .milliseconds(30))
    }

    @Test("answers the requests before a scripted GOAWAY, and refuses the later ones unprocessed")
    func goAway() async throws {
        let (standIn, provider, authorization) = try await open([
            ScriptedFault(.goAway(ScriptedGoAway(reason: "Shutdown")), at: 4)
        ])
        let terminalCounts = try terminalCounts(provider, authorization, 6)
        #expect(terminalCounts == [.complete, .complete, .complete, .refused, .refused, .refused])
        #expect(provider.goAways.map(\.reason) == [#"{"reason":"Shutdown"}"#])
        try provider.waitForClose()
        #expect(await standIn.simulator.summary().accepted == 4)
        #expect(try standIn.connect().ask(Push(authorization: authorization)).status == 200)
    }

    @Test("processes the requests between the two GOAWAY frames of a graceful shutdown")
    func twoSteps() async throws {
        let goAway = ScriptedGoAway(reason: "Shutdown", noticeBefore: .milliseconds(10))
        let fault = ScriptedFault(.goAway(goAway), at: 1)
        // An idle client gets no second GOAWAY: its session has ended with the first.
        let (_, provider, authorization) = try await open([fault], delay: .milliseconds(100))
        let terminalCounts = try terminalCounts(provider, authorization, 1)
        #expect(terminalCounts == [.complete])
        try provider.waitForClose()
        #expect(provider.goAways.map(\.last).first == .max)
        #expect(provider.goAways.map(\.last) == [.max, 3])
    }

    @Test("leaves the socket open after a GOAWAY, or closes it before pending answers")
    func closings() async throws {
        let (_, provider, authorization) = try await open([
            ScriptedFault(.goAway(ScriptedGoAway(closing: .never)), at: 1)
        ])
        #expect(try terminalCounts(provider, authorization, 1) == [.refused])
        #expect(provider.session.isFinished)
        #expect(!provider.isClosed)
        let (standIn, other, token) = try await open(delay: .seconds(60))
        let pending = try other.send(Push(authorization: token))
        try await standIn.waitForRequests(2)
        await standIn.simulator.follow(
            SimulatorScript(faults: [ScriptedFault(.goAway(ScriptedGoAway(closing: .atOnce)), at: 1)]))
        #expect(try terminalCounts(other, token, 1) == [.refused])
        #expect(try other.answer(to: pending).conclusion == .lost(wasSent: true))
    }

    @Test("resets every third request")
    func resets() async throws {
        let (_, provider, authorization) = try await open([ScriptedFault(.reset(.internalError), at: 3, every: 3)])
        let terminalCounts = try terminalCounts(provider, authorization, 9)
        #expect(terminalCounts.filter { $0 == .reset(.internalError) }.count == 3)
        #expect(terminalCounts.filter { $0 == .complete }.count == 6)
        #expect(terminalCounts[2] == .reset(.internalError))
    }

    @Test("changes its stream limit on an open connection")
    func limits() async throws {
        let (_, provider, authorization) = try await open([
            ScriptedFault(.streamLimit(1), at: 2), ScriptedFault(.streamLimit(200), at: 5),
        ])
        for _ in 0..<8 { #expect(try provider.ask(Push(authorization: authorization)).status == 200) }
        #expect(provider.streamLimits == [1, 1_000, 1, 200])
    }

    @Test("refuses a limited number of requests over all connections")
    func storm() async throws {
        let (standIn, provider, authorization) = try await open([
            ScriptedFault(
                .answer(ScriptedAnswer(status: 503, reason: "ServiceUnavailable")), at: 1, every: 1, times: 5)
        ])
        let statuses = try (0..<3).map { _ in try provider.ask(Push(authorization: authorization)).status }
        let other = try standIn.connect()
        let more = try (0..<3).map { _ in try other.ask(Push(authorization: authorization)).status }
        #expect(statuses + more == [503, 503, 503, 503, 503, 200])
        #expect(await standIn.simulator.summary().refused("ServiceUnavailable") == 5)
    }

    @Test("stalls a connection without answering or closing")
    func stall() async throws {
        let (standIn, provider, authorization) = try await open([ScriptedFault(.stall, at: 2)])
        let tags = try (0..<3).map { _ in try provider.send(Push(authorization: authorization)) }
        #expect(try provider.answer(to: tags[0]).status == 200)
        #expect(await standIn.simulator.summary().connectionsOpen == 1)
        #expect(provider.answers[tags[1]] == nil)
        await standIn.simulator.dropConnections()
        #expect(try provider.answer(to: tags[1]).conclusion == .lost(wasSent: true))
    }

    @Test("closes or drops a connection, or sends garbage", arguments: [0, 1, 2, 3, 4])
    func nonsense(which: Int) async throws {
        let kinds: [ScriptedFault.Kind] = [.close, .drop, .garbage, .halfFrame, .hugeHeader]
        let (standIn, provider, authorization) = try await open([ScriptedFault(kinds[which], at: 2, times: 1)])
        #expect(try provider.ask(Push(authorization: authorization)).status == 200)
        let tag = try provider.send(Push(authorization: authorization))
        if which == 3 {
            try await standIn.waitForRequests(3)
            await standIn.simulator.dropConnections()
        }
        #expect(try provider.answer(to: tag).conclusion != .complete)
        #expect(try standIn.connect().ask(Push(authorization: authorization)).status == 200)
    }

    @Test("refuses a connection at its opening")
    func opening() async throws {
        let standIn = try await StandIn()
        let goAway = ScriptedGoAway(reason: "BadCertificateEnvironment")
        await standIn.simulator.follow(SimulatorScript(faults: [ScriptedFault(.goAway(goAway), at: 0, times: 1)]))
        let provider = try standIn.connect()
        try provider.waitForGoAway()
        #expect(provider.goAways.map(\.last) == [0])
        #expect(try standIn.connect().ask(Push(authorization: standIn.authorization())).status == 200)
    }
}
