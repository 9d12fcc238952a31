import Basis
import Expressions
import Model
import TestSupport
import Testing

private let now = RandomFilter.now

private let ann = DeviceRecord(
    id: RegistrationID(7), installation: "phone-1", kind: .alert, provider: .fcm, environment: .production, topic: "",
    token: DeviceToken(bytes: [1]), state: .active, badge: 0, registeredAt: now + .seconds(-86_400),
    createdAt: now + .seconds(-40 * 86_400),
    profile: RegistrationProfile(
        [.user: "ann", .locale: "de-AT", .appVersion: "4.10.1-beta"], tags: ["news", "beta"],
        attributes: Array(
            #"{"plan":"pro","n":10.0,"big":1e3,"on":true,"off":null,"list":["a",2],"deep":{"x":"y"},"since":"2026-03-01"}"#
                .utf8)))

@Suite("The evaluation of a filter")
struct FilterMeaningTests {
    static let claims: [(String, Bool)] = [
        ("user == 'ann'", true), ("user == 'Ann'", false), ("user != 'bob'", true), ("user in ['bob', 'ann']", true),
        ("user not in ['bob', 'ann']", false), ("locale starts_with 'de'", true), ("locale starts_with 'DE'", false),
        ("installation exists", true), ("provider == 'fcm'", true), ("provider not in ['fcm', 'apns']", false),
        ("environment == 'sandbox'", false), ("topic missing", true), ("topic != 'x'", false),
        // Missing: every comparison is false, and its negation is true.
        ("time_zone == 'UTC'", false), ("time_zone != 'UTC'", false), ("not time_zone == 'UTC'", true),
        ("time_zone not in ['UTC']", false), ("time_zone starts_with ''", false), ("time_zone missing", true),
        ("attributes.gone == 1", false), ("attributes.gone != 1", false), ("not attributes.gone == 1", true),
        ("attributes.gone < 1", false), ("not attributes.gone < 1", true), ("attributes.off missing", true),
        ("attributes.off exists", false), ("attributes.off != 1", false),
        // Versions.
        ("app_version > '4.9'", true), ("app_version >= '4.10.1'", true), ("app_version > '4.10.1'", false),
        ("app_version < '4.11'", true), ("app_version == '4.10.1'", false), ("app_version == '4.10.1-beta'", true),
        // Times.
        ("registered_at > now - 2d", true), ("registered_at > now - 24h", false), ("registered_at >= now - 24h", true),
        ("created_at < now - 5w", true), ("created_at < now", true), ("created_at > '2026-01-01'", true),
        // Tags.
        ("tags has 'news'", true), ("tags has 'new'", false), ("not tags has 'x'", true),
        // Attributes: by type and value.
        ("attributes.plan == 'pro'", true), ("attributes.plan != 5", true), ("attributes.plan < 5", false),
        ("attributes.n == 10", true), ("attributes.n == '10'", false), ("attributes.n < 10.01", true),
        ("attributes.n >= 10", true), ("attributes.n > 10", false), ("attributes.big == 1000", true),
        ("attributes.n > -11", true), ("attributes.on == true", true), ("attributes.on != false", true),
        ("attributes.list has 'a'", true), ("attributes.list has 2.0", true), ("attributes.list has '2'", false),
        ("attributes.plan has 'pro'", false), ("attributes.list == 'a'", false), ("attributes.list != 'a'", true),
        ("attributes.deep.x starts_with 'y'", true), ("attributes.deep exists", true),
        ("attributes.deep.x.y missing", true), ("attributes.list['0'] missing", true),
        ("attributes.since >= '2026-02'", true), ("attributes.since < '2026-02'", false),
        // Combined.
        ("user == 'ann' and tags has 'x' or locale == 'de-AT'", true),
        ("user == 'ann' and (tags has 'x' or locale == 'fr')", false), ("not (user == 'ann' and tags has 'x')", true),
    ]

    @Test("gives the expected result for a registration", arguments: 0..<claims.count)
    func meaning(place: Int) throws {
        let (text, isTrue) = Self.claims[place]
        #expect(try FilterExpression(parsing: text).isTrue(of: ann, now: now) == isTrue, "\(text)")
    }

    @Test("compares numbers without loss of precision")
    func numbers() throws {
        let rising = [
            "-12.5", "-12", "-0.07", "0", "0.0007", "0.07", "1", "9", "10", "9007199254740993", "1e30", "1e308",
        ]
        for (one, lower) in rising.enumerated() {
            for (other, higher) in rising.enumerated() {
                let (left, right) = try (#require(DecimalNumber(lower)), #require(DecimalNumber(higher)))
                #expect((left < right) == (one < other) && (left == right) == (one == other), "\(lower) \(higher)")
            }
        }
        for (one, same) in [("1.50", "15e-1"), ("-0.0", "0"), ("0.1e1", "1"), ("100", "1E+2")] {
            #expect(try #require(DecimalNumber(one)) == #require(DecimalNumber(same)))
        }
        for text in ["", "-", "1.", ".1", "1e", "0x1", "1e99999999", " 1", "١"] { #expect(DecimalNumber(text) == nil) }
    }
}
