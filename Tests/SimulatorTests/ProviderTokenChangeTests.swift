import Reactor
import Simulator
import Testing

@Suite("A provider token that follows another at the stand-in", .serialized)
struct ProviderTokenChangeTests {
    private static let tooMany = #"{"reason":"TooManyProviderTokenUpdates"}"#

    /// "" where the push was accepted.
    private func reason(_ provider: Provider, _ authorization: String) throws -> String {
        try provider.ask(Push(authorization: authorization)).body
    }

    @Test("and was issued twenty minutes after it is welcome, however young the connection")
    func youngConnection() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let start = Clocks.wallNow().secondsSince1970 - 1_500
        #expect(try reason(provider, standIn.authorization(issuedAt: "\(start)")) == "")
        #expect(try reason(provider, standIn.authorization(issuedAt: "\(start + 1_199)")) == Self.tooMany)
        #expect(try reason(provider, standIn.authorization(issuedAt: "\(start + 1_200)")) == "")
    }

    @Test("and was issued sooner is one too many on every connection, and however late it is shown")
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
        await standIn.simulator.follow(APNsScript(clockOffset: .seconds(1_300)))
        #expect(try reason(other, second) == Self.tooMany)
        #expect(try reason(other, first) == "", "the one in use goes on")
    }

    @Test("of the same second, but signed anew, is another token")
    func signedAnew() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        let issuedAt = String(Clocks.wallNow().secondsSince1970)
        #expect(try reason(provider, standIn.authorization(issuedAt: issuedAt)) == "")
        #expect(try reason(provider, standIn.authorization(issuedAt: issuedAt)) == Self.tooMany)
    }

    @Test("may be followed by the first again: other connections still send it")
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

    @Test("but was signed with another key is welcome at once")
    func otherKey() async throws {
        let standIn = try await StandIn()
        let provider = try standIn.connect()
        #expect(try reason(provider, standIn.authorization()) == "")
        #expect(try reason(provider, standIn.authorization(keyID: "OTHERKEY01")) == "")
    }

    @Test("is welcome at once after a reset: the stand-in has forgotten the first")
    func reset() async throws {
        let standIn = try await StandIn()
        #expect(try reason(standIn.connect(), standIn.authorization(ageSeconds: 10)) == "")
        await standIn.simulator.reset()
        #expect(try reason(standIn.connect(), standIn.authorization()) == "")
    }
}
