import Simulator
import Testing

@Suite("The simulator's stream limit for a provider token's connection", .serialized)
struct StreamLimitTests {
    private func statuses(_ provider: Provider, _ tokens: [String], _ authorization: String) throws -> [Int] {
        try tokens.map { try provider.ask(Push(token: $0, authorization: authorization)).status }
    }

    @Test("starts at one stream, and rises to a thousand after the first accepted push")
    func firstSuccess() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        #expect(provider.streamLimits == [1])
        #expect(try statuses(provider, ["0a"], "bearer nonsense") == [403])
        #expect(try statuses(provider, ["dead0400aa", "dead0100aa", "dead0700aa"], authorization) == [400, 410, 500])
        #expect(provider.streamLimits == [1])
        #expect(try statuses(provider, ["0a"], authorization) == [200])
        try provider.waitForLimit(1_000)
        #expect(provider.session.room == 1_000)
    }

    @Test("drops to one stream after several refusals in a row, and rises after an accepted push")
    func refusals() async throws {
        let standIn = try await StandIn { settings, _ in settings.refusalsUntilLimitDrops = 3 }
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        #expect(try statuses(provider, ["0a"], authorization) == [200])
        _ = try statuses(provider, Array(repeating: "dead0500aa", count: 8), authorization)
        #expect(provider.streamLimits == [1, 1_000, 1])
        #expect(try statuses(provider, ["0a"], authorization) == [200])
        try provider.waitForLimit(1_000)
        #expect(provider.streamLimits == [1, 1_000, 1, 1_000])
    }

    @Test("ends with the connection after too many bad device tokens")
    func badTokens() async throws {
        let standIn = try await StandIn { settings, _ in settings.badDeviceTokensMax = 5 }
        let provider = try standIn.connect()
        let authorization = try standIn.authorization()
        _ = try statuses(provider, Array(repeating: "dead0400aa", count: 5), authorization)
        try provider.waitForGoAway()
        #expect(provider.goAways.map(\.reason) == [#"{"reason":"BadDeviceToken"}"#])
    }
}
