import Reactor
import Simulator
import Testing

@Suite("A second provider token at the APNs simulator", .serialized)
struct ProviderTokenChangeTests {
    private static let tooMany = #"{"reason":"TooManyProviderTokenUpdates"}"#

    /// Returns an empty text if the push was accepted.
    private func reason(_ provider: Provider, _ authorization: String) throws -> String {
        try provider.ask(Push(authorization: authorization)).body
    }

    @Test("passes 20 minutes after the first token was issued, even on a young connection")
    func youngConnection() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let start = Clocks.wallNow().secondsSince1970 - 1_500
        #expect(try reason(provider, standIn.authorization(issuedAt: "\(start)")) == "")
        #expect(try reason(provider, standIn.authorization(issuedAt: "\(start + 1_199)")) == Self.tooMany)
        #expect(try reason(provider, standIn.authorization(issuedAt: "\(start + 1_200)")) == "")
    }

    @Test("fails on every connection if it was issued within 20 minutes of the first")
    func sooner() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let first = try standIn.authorization(ageSeconds: 1_100)
        let second = try standIn.authorization()
        #expect(try reason(provider, first) == "")
        #expect(try reason(provider, second) == Self.tooMany)
        let other = try standIn.connect()
        #expect(try reason(other, second) == Self.tooMany)
        #expect(try reason(other, first) == "")
        await standIn.simulator.follow(SimulatorScript(clockOffset: .seconds(1_300)))
        #expect(try reason(other, second) == Self.tooMany)
        #expect(try reason(other, first) == "", "the token in use stays valid")
    }

    @Test("fails if it has the same issue time but another signature")
    func signedAnew() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let issuedAt = String(Clocks.wallNow().secondsSince1970)
        #expect(try reason(provider, standIn.authorization(issuedAt: issuedAt)) == "")
        #expect(try reason(provider, standIn.authorization(issuedAt: issuedAt)) == Self.tooMany)
    }

    @Test("leaves the first token valid for other connections")
    func bothInUse() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let first = try standIn.authorization(ageSeconds: 1_800)
        let second = try standIn.authorization()
        for authorization in [first, second, first, second] {
            #expect(try reason(provider, authorization) == "")
        }
        #expect(try reason(standIn.connect(), first) == "")
    }

    @Test("passes at once if another key signed it")
    func otherKey() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        #expect(try reason(provider, standIn.authorization()) == "")
        #expect(try reason(provider, standIn.authorization(keyID: "OTHERKEY01")) == "")
    }

    @Test("passes at once after a reset, which discards the first token")
    func reset() async throws {
        let standIn = try await StandIn()
        #expect(try reason(standIn.connect(), standIn.authorization(ageSeconds: 10)) == "")
        await standIn.simulator.reset()
        #expect(try reason(standIn.connect(), standIn.authorization()) == "")
    }
}
