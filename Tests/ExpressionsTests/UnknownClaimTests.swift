import Expressions
import JSON
import Testing

@Suite("A claim that a subscription did not keep")
struct UnknownClaimTests {
    /// The subscription's rules named `sub`, `gone` and `org`. The token had no `gone`.
    private static let kept = #"{"sub": "u1", "gone": null, "org": {"id": "o1"}}"#

    /// Expressions at `/contacts/$uid`, asked about `/contacts/u1`; nil: the expression fails.
    private static let asked: [(String, Bool?)] = [
        ("auth.role == null", nil), ("null == auth.role", nil), ("auth.role != null", nil), ("auth.role == 'x'", nil),
        ("auth.role != 'x'", nil), ("auth.banned != true", nil), ("!(auth.banned == true)", nil), ("!auth.banned", nil),
        ("auth.banned", nil), ("auth.role < 1", nil), ("auth.role == auth.role", nil), ("auth['role'] == null", nil),
        // A member of it, and a name that is computed.
        ("auth.role.deep == null", nil), ("auth.role.deep.er != 'x'", nil), ("auth[$uid] == null", nil),
        ("auth[auth.sub] == null", nil), ("auth[auth.role] == null", nil), ("auth.org[auth.role] == null", nil),
        // Data at an index that is such a claim.
        ("root.members[auth.role] == null", nil), ("root.members[auth.role] != true", nil),
        ("data[auth.role] == null", nil), ("root[auth.role].x == null", nil),
        // Negations and connectives.
        ("(auth.role == null) == false", nil), ("(auth.role == null) != true", nil), ("auth.role == null && true", nil),
        ("true && auth.role == null", nil), ("auth.role == null || false", nil), ("false || auth.role == null", nil),
        ("auth.role == null || auth.role == 'x'", nil), ("auth.role == null || auth.role != null", nil),
        ("auth.role == null || !(auth.role == null)", nil), ("auth.sub == $uid && auth.banned != true", nil),
        // Its value matters to none of these.
        ("auth.role == null || auth.sub == $uid", true), ("auth.sub == $uid || auth.role == null", true),
        ("auth.sub != $uid && auth.role == null", false), ("data.isPublic || auth.role == null", true),
        // The claims that were kept, one as missing.
        ("auth != null", true), ("auth.sub == $uid", true), ("auth.gone == null", true), ("auth.gone != null", false),
        ("auth.gone.further == null", true), ("auth.gone != 'x'", nil), ("auth.org.id == 'o1'", true),
        ("auth.org.role == null", true), ("auth.sub.role == null", true), ("auth[1] == null", true),
        ("root.members[auth.gone] == null", true),
    ]

    private func verdicts(_ text: String, _ fixture: ReadRulesFixture) throws -> [Bool?] {
        try [text, "!(\(text))"].map {
            fixture.mayRead(try ReadRulesFixture.rules($0, at: ["contacts", "$uid"]), ["contacts", "u1"])
        }
    }

    @Test("fails what asks for it, also beside null, and so does the negation", arguments: 0..<asked.count)
    func meaning(place: Int) throws {
        let (text, expected) = Self.asked[place]
        var fixture = ReadRulesFixture()
        fixture.kept = UserClaims(stored: Array(Self.kept.utf8), areAll: false)
        #expect(try verdicts(text, fixture) == [expected ?? false, expected.map { !$0 } ?? false], "\(text)")
    }

    @Test("fails what asks for it also where the claims that were kept can't be read")
    func unreadable() throws {
        var fixture = ReadRulesFixture()
        fixture.kept = UserClaims(stored: Array("{".utf8), areAll: true)
        for text in ["auth.role == null", "auth.sub != 'x'", "auth == null"] {
            #expect(try verdicts(text, fixture)[0] == false, "\(text)")
        }
    }

    @Test("does not exist where all of the token's were kept: a claim that is not there is missing")
    func all() throws {
        var fixture = ReadRulesFixture()
        fixture.kept = UserClaims(stored: Array(Self.kept.utf8), areAll: true)
        for (text, expected) in [
            ("auth.role == null", true), ("auth.role != null", false), ("auth[$uid] == null", true),
            ("root.members[auth.role] == null", true), ("auth.banned != true", nil),
        ] as [(String, Bool?)] {
            #expect(try verdicts(text, fixture) == [expected ?? false, expected.map { !$0 } ?? false], "\(text)")
        }
    }
}

@Suite("The claims that a subscription keeps")
struct KeptClaimsTests {
    private static let token: JSONValue = ["sub": "u1", "role": "x", "mail": "u1@example.com", "none": .null]

    private func kept(_ claims: JSONValue, for names: NamedClaims) -> String {
        let kept = UserClaims(ofToken: claims).kept(for: names)
        return String(decoding: kept.bytes, as: UTF8.self) + (kept.areAll ? " all" : "")
    }

    @Test("have the user and what the rules name, with null for what the token lacks")
    func named() {
        let names = NamedClaims.only(["role", "org", "none", "org"])
        #expect(kept(Self.token, for: names) == #"{"sub":"u1","role":"x","none":null,"org":null}"#)
        #expect(kept(Self.token, for: .only(["sub"])) == #"{"sub":"u1"}"#)
        #expect(kept(Self.token, for: .only([])) == #"{"sub":"u1"}"#)
        #expect(kept([:], for: .only(["role"])) == #"{"sub":null,"role":null}"#)
        #expect(kept(["\u{e9}": 1], for: .only(["e\u{301}", "sub"])) == "{\"e\u{301}\":null,\"sub\":null}")
    }

    @Test("have all of the token's if the rules compute a name")
    func computed() {
        #expect(kept(Self.token, for: .all) == String(decoding: Self.token.bytes, as: UTF8.self) + " all")
    }

    @Test("have all of the token's if the rules name too many that it lacks")
    func many() {
        let names = (0..<500).map { "claim-\($0)" }
        #expect(kept(Self.token, for: .only(names)).hasSuffix(" all"))
        #expect(kept(Self.token, for: .only([String(repeating: "n", count: 2_048)])).hasSuffix(" all"))
        #expect(kept(Self.token, for: .only([String(repeating: "\"", count: 1_024)])).hasSuffix(" all"))
        let most = kept(Self.token, for: .only(Array(names.prefix(100))))
        #expect(!most.hasSuffix(" all") && most.contains(#""claim-99":null"#))
        // A token that has them needs no room for their names.
        let full = JSONValue.object(JSONObject(names.map { JSONMember($0, 1) }))
        #expect(!kept(full, for: .only(names)).hasSuffix(" all"))
    }
}
