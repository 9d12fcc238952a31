import Simulator
import Testing

@Suite("A silent client of the simulator", .serialized)
struct DeadlineTests {
    private static let preface = Array("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n".utf8)
    private static let emptySettings: [UInt8] = [0, 0, 0, 4, 0, 0, 0, 0, 0]
    /// The number of attempts for what depends on the machine's load.
    private static let attempts = 20

    private static func unfinished(_ standIn: StandIn) throws -> [Stranger] {
        [
            try Stranger(standIn),
            try Stranger(standIn, outside: [22, 3, 1, 2, 0, 1]),
            try Stranger(standIn, inside: []),
            try Stranger(standIn, inside: Array("PRI * HT".utf8)),
            try Stranger(standIn, inside: preface + emptySettings.prefix(5)),
            try Stranger(standIn, inside: preface + emptySettings),
        ]
    }

    @Test("loses its connection if it leaves the TLS or HTTP/2 handshake unfinished")
    func handshake() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.handshakeTimeout = .milliseconds(200) }
        let strangers = try Self.unfinished(standIn)
        for stranger in strangers { try stranger.waitForClose() }
        let summary = await standIn.simulator.summary()
        #expect(summary.connectionsOpen == 0)
        #expect(summary.handshakesFailed == strangers.count)
    }

    @Test("keeps its connection beyond the handshake deadline once it has shaken hands")
    func agreed() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.handshakeTimeout = .milliseconds(200) }
        let authorization = try standIn.authorization()
        let isServed = try (0..<Self.attempts).contains { _ in
            let provider = try standIn.connect()
            // This client came later and was closed at its deadline, so the provider's deadline has passed too.
            try Stranger(standIn).waitForClose()
            return try !provider.isClosed && provider.ask(Push(authorization: authorization)).status == 200
        }
        #expect(isServed)
    }

    @Test("gets a GOAWAY with the reason IdleTimeout, and then its connection closes")
    func idle() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.idleTimeout = .milliseconds(50) }
        let provider = try standIn.connect()
        try provider.waitForGoAway()
        #expect(provider.goAways.map(\.reason) == [#"{"reason":"IdleTimeout"}"#])
        try provider.waitForClose()
        #expect(await standIn.simulator.summary().goAways == 1)
    }

    @Test("loses its connection in the middle of a frame too")
    func halfFrame() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.idleTimeout = .milliseconds(50) }
        let acknowledgement: [UInt8] = [0, 0, 0, 4, 1, 0, 0, 0, 0]
        let halfPing: [UInt8] = [0, 0, 8, 6, 0, 0, 0, 0, 0, 1, 2, 3]
        let stranger = try Stranger(
            standIn, inside: Self.preface + Self.emptySettings + acknowledgement + halfPing)
        try stranger.waitForClose()
    }

    @Test("loses its connection even if the simulator's script stalls")
    func stalled() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.idleTimeout = .milliseconds(50) }
        await standIn.simulator.follow(SimulatorScript(faults: [ScriptedFault(.stall, at: 1)]))
        let provider = try standIn.connect()
        // The GOAWAY to an idle client may come first.
        _ = try? provider.send(Push())
        try provider.waitForClose()
    }

    @Test("gets the answer that it waits for before its connection closes")
    func waiting() async throws {
        let standIn = try await StandIn { settings, _ in settings.common.idleTimeout = .milliseconds(50) }
        await standIn.simulator.follow(SimulatorScript(answerDelay: .milliseconds(200)))
        let push = Push(authorization: try standIn.authorization())
        // A push that the GOAWAY overtook was not processed and proves nothing.
        let isAnswered = try (0..<Self.attempts).contains { _ in
            let provider = try standIn.connect()
            guard !provider.isClosed, provider.session.mayOpen else { return false }
            return try provider.ask(push).conclusion == .complete
        }
        #expect(isAnswered)
    }
}
