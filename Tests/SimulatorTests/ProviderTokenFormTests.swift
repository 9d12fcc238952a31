import Reactor
import Signing
import Simulator
import Testing

@Suite("The form of a provider token shown to the APNs simulator", .serialized)
struct ProviderTokenFormTests {
    private static let header = #"{"alg":"ES256","kid":"\#(StandIn.keyID)"}"#
    private static let invalid = #"{"reason":"InvalidProviderToken"}"#

    private static func claims(_ offsetSeconds: Int64 = 0) -> String {
        #"{"iss":"\#(StandIn.teamID)","iat":\#(Clocks.wallNow().secondsSince1970 + offsetSeconds)}"#
    }

    private func standIn(registered: Bool) async throws -> StandIn {
        try await StandIn { settings, key in
            guard registered else { return }
            settings.keys = .registered([
                RegisteredKey(keyID: StandIn.keyID, teamID: StandIn.teamID, publicKeyPEM: try key.publicPEM())
            ])
        }
    }

    private func body(_ standIn: StandIn, _ authorization: String) throws -> String {
        try standIn.connect().ask(Push(authorization: authorization)).body
    }

    @Test(
        "needs the algorithm ES256 and a key id of ten characters",
        arguments: [
            #"{"alg":"HS256","kid":"ABCDE12345"}"#, #"{"alg":"none","kid":"ABCDE12345"}"#, #"{"kid":"ABCDE12345"}"#,
            #"{"alg":"ES256"}"#, #"{"alg":"ES256","kid":"ABCDE1234"}"#, #"{"alg":"ES256","kid":"ABCDE-2345"}"#,
            #"{"alg":"ES256","kid":12345}"#, "[]", "",
        ])
    func header(_ header: String) async throws {
        let standIn = try await standIn(registered: false)
        #expect(try body(standIn, standIn.authorization(header: header, claims: Self.claims())) == Self.invalid)
    }

    @Test(
        "needs an issue time and a team id of ten characters",
        arguments: [
            #"{"iat":%}"#, #"{"iss":"TEAMID1234"}"#, #"{"iss":"TEAMID123","iat":%}"#,
            #"{"iss":"TEAMID1234","iat":null}"#,
            #"{"iss":"TEAMID1234","iat":"soon"}"#, #"{"iss":1234567890,"iat":%}"#, "7",
        ])
    func claims(_ claims: String) async throws {
        let standIn = try await standIn(registered: false)
        let seconds = String(Clocks.wallNow().secondsSince1970)
        let claims = claims.split(separator: "%", omittingEmptySubsequences: false).joined(separator: seconds)
        #expect(try body(standIn, standIn.authorization(header: Self.header, claims: claims)) == Self.invalid)
    }

    @Test("needs three parts without padding, and a signature of 64 bytes")
    func parts() async throws {
        let standIn = try await standIn(registered: false)
        let whole = try standIn.authorization()
        let short = try standIn.authorization(header: Self.header, claims: Self.claims()) { Array($0.dropLast()) }
        let two = whole.split(separator: ".").dropLast().joined(separator: ".")
        for authorization in [two, whole + ".", whole + "==", short] {
            #expect(try body(standIn, authorization) == Self.invalid)
        }
    }

    @Test("may have a DER signature, additional members and a capitalized scheme")
    func lenient() async throws {
        let standIn = try await standIn(registered: true)
        let header = #"{"typ":"JWT","alg":"ES256","kid":"\#(StandIn.keyID)"}"#
        let seconds = Clocks.wallNow().secondsSince1970
        let claims = #"{"kid":"x","iss":"\#(StandIn.teamID)","iat":\#(seconds)}"#
        let authorization = try standIn.authorization(header: header, claims: claims, signature: Self.der)
        #expect(try body(standIn, "Bearer " + authorization.dropFirst("bearer ".count)) == "")
    }

    @Test("limits the token's age to an hour before or after now")
    func age() async throws {
        let expired = #"{"reason":"ExpiredProviderToken"}"#
        for (offset, expected) in [(-3_700, expired), (-3_500, ""), (3_500, ""), (3_700, expired)] as [(Int64, String)]
        {
            let standIn = try await standIn(registered: true)
            let authorization = try standIn.authorization(header: Self.header, claims: Self.claims(offset))
            #expect(try body(standIn, authorization) == expected, "\(offset) s")
        }
    }

    /// SEQUENCE of two INTEGERs.
    private static func der(_ raw: [UInt8]) -> [UInt8] {
        let numbers = [raw.prefix(32), raw.suffix(32)].flatMap { half -> [UInt8] in
            var digits = Array(half.drop { $0 == 0 })
            if digits.first.map({ $0 >= 0x80 }) ?? true { digits.insert(0, at: 0) }
            return [2, UInt8(digits.count)] + digits
        }
        return [0x30, UInt8(numbers.count)] + numbers
    }
}
