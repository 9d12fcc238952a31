import HTTP2
import Testing

@Suite("A peer that limits concurrent streams")
struct StreamLimitTests {
    @Test("gets one stream before its SETTINGS arrive, then as many as it allows")
    func fromOneToThousand() throws {
        let wire = try Wire()
        #expect(wire.client.room == 1)
        try wire.push(tag: 0)
        #expect(throws: HTTP2Fault.streamLimitReached) { try wire.push(tag: 1) }
        try wire.exchange()
        #expect(wire.streamLimits == [1_000])
        #expect(wire.client.room == 1_000)
        #expect(wire.settingsAcknowledged == 1)
    }

    @Test("gets no more streams than the client's own limit")
    func ownBound() throws {
        var settings = HTTP2ClientSettings()
        settings.streamsMax = 10
        let wire = try Wire(client: settings)
        try wire.exchange()
        #expect(wire.client.peerStreamLimit == 1_000)
        #expect(wire.client.room == 10)
    }

    @Test(
        "gets no new stream after it lowers the limit, and still answers the open ones",
        arguments: [1, 0])
    func lowered(limit: UInt32) throws {
        let wire = try Wire()
        wire.answer = { _, _ in }
        try wire.exchange()
        for tag in UInt64(0)..<20 { try wire.push(tag: tag) }
        try wire.exchange()
        try wire.server.submitSettings([.streamsMax(limit)])
        try wire.exchange()
        #expect(wire.client.peerStreamLimit == Int(limit))
        #expect(!wire.client.mayOpen)
        for request in wire.requests { try wire.respond(request.stream, 200) }
        try wire.exchange()
        #expect(wire.answers.filter { $0.conclusion == .complete }.count == 20)
        #expect(wire.client.room == Int(limit))
        try wire.server.submitSettings([.streamsMax(500)])
        try wire.exchange()
        #expect(wire.client.room == 500)
    }

    @Test("refuses streams that the client opened before it knew the limit")
    func refusedBeforeSettings() throws {
        var clientSettings = HTTP2ClientSettings()
        clientSettings.streamLimitAtStart = 100
        var serverSettings = HTTP2ServerSettings()
        serverSettings.streamLimit = 1
        let wire = try Wire(client: clientSettings, server: serverSettings)
        wire.answer = { _, _ in }
        for tag in UInt64(0)..<5 { try wire.push(tag: tag) }
        try wire.exchange()
        #expect(wire.requests.count == 1)
        #expect(wire.answers.map(\.conclusion) == Array(repeating: .refused, count: 4))
        try wire.respond(1, 200)
        try wire.exchange()
        #expect(wire.answers.last?.conclusion == .complete)
    }

    @Test("leaves the client one stream id fewer with each request")
    func idsLeft() throws {
        let wire = try Wire()
        #expect(wire.client.streamIDsLeft == 1 << 30)
        try wire.push(tag: 0)
        #expect(wire.client.streamIDsLeft == 1 << 30 - 1)
    }

    @Test("echoes the eight bytes of a ping, in both directions")
    func pings() throws {
        let wire = try Wire()
        try wire.client.submitPing(0x0102_0304_0506_0708)
        try wire.server.submitPing(.max)
        try wire.exchange()
        #expect(wire.clientPings == [0x0102_0304_0506_0708])
        #expect(wire.serverPings == [.max])
    }
}
