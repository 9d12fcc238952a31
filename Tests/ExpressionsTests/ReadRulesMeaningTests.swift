import Expressions
import JSON
import Testing

@Suite("The evaluation of a read rule")
struct ReadRulesMeaningTests {
    /// Expressions at `/contacts/$uid`, asked about `/contacts/u1/phone`; nil: the expression fails.
    static let claims: [(String, Bool?)] = [
        ("true", true), ("false", false), ("!false", true), ("!!true", true), ("(true)", true),
        // A value that is no boolean grants nothing.
        ("null", nil), ("'true'", nil), ("1", nil), ("auth", nil), ("auth.sub", nil),
        // Literals.
        ("1 == 1.0", true), ("1 == '1'", false), ("1 != '1'", true), ("-1 < 0.5", true), ("null == null", true),
        ("true == true", true), ("'a' == \"a\"", true), ("'a' == 'A'", false), ("'\u{e9}' == 'e\u{301}'", false),
        ("9007199254740993 == 9007199254740992", false), ("'say \\'hi\\'' != ''", true),
        // Claims.
        ("auth != null", true), ("auth == null", false), ("auth.sub == 'u1'", true), ("auth['sub'] == 'u1'", true),
        ("auth.gone == null", true), ("auth.none == null", true), ("auth.gone.further == null", true),
        ("auth.sub.further == null", true), ("auth.age == 36", true), ("auth.age > 35.5", true),
        ("auth.admin == false", true), ("!auth.admin", true), ("auth.org.id == 'o1'", true),
        ("auth.org.deep.x == 'y'", true), ("auth['first name'] == 'given'", true),
        ("auth['https://example.com/plan'] == 'pro'", true), ("auth[auth.gone] == null", true),
        ("auth['uid'] == null", true), ("auth.org.uid == null", true), ("auth[1] == null", true),
        ("auth[''] == null", true),
        // Structures equal nothing.
        ("auth == auth", false), ("auth != auth", true), ("auth.roles != null", true), ("auth.roles == null", false),
        ("auth.roles == auth.roles", false), ("auth.roles['0'] == null", true), ("auth.org != 'o1'", true),
        // Keys and the time.
        ("$uid == 'u1'", true), ("auth.sub == $uid", true), ("$uid.further == null", true), ("$uid < 'u10'", true),
        ("now == 1700000000000", true), ("now >= root.opensAt", true), ("now > root.opensAt", false),
        ("now.further == null", true),
        // Data.
        ("data != null", true), ("data == data", false), ("data.isPublic", true), ("data.phone == '1'", true),
        ("data.age == auth.age", true), ("data.gone == null", true), ("data.phone.further == null", true),
        ("root.version == 3", true), ("root.contacts[$uid].phone == '1'", true), ("root != null", true),
        ("root.contacts.u2.tags != null", true), ("root.contacts.u2.tags['0'] == null", true),
        ("root.members[auth.sub] == true", true), ("root.members[auth.sub]", true), ("root.members['äöü']", true),
        ("root.members['u2'] == true", false), ("root.members.u2", nil),
        // An index that is no key.
        ("root.members[auth.gone] == null", true), ("root.members[1] == null", true),
        ("data[auth.empty] == null", true),
        ("root[auth.slash] == null", true), ("root['contacts/u1'] == null", true), ("root[''] == null", true),
        ("root[auth.roles] == null", true), ("root.members[1] == true", false),
        // Orders need two numbers or two texts.
        ("1 < 'a'", nil), ("null < 1", nil), ("auth.gone >= 0", nil), ("auth.roles <= 1", nil), ("true > false", nil),
        ("'a' < 'b'", true), ("'ab' < 'b'", true), ("'b' <= 'a'", false), ("2 <= 10", true), ("'2' <= '10'", false),
        ("2 <= 2.0", true), ("2 >= 3", false), ("'Z' < 'a'", true),
        // A failure is no false, so that its negation does not hold either.
        ("!(1 < 'a')", nil), ("!null", nil), ("!'a'", nil), ("!auth", nil), ("(1 < 'a') == false", nil),
        ("auth[1 < 'a'] == null", nil), ("root[!1] == null", nil),
        // Connectives need booleans, and evaluate from the left as far as needed.
        ("false && 1 < 'a'", false), ("true || 1 < 'a'", true), ("1 < 'a' && false", nil),
        ("true && 'a'", nil), ("false || 1", nil), ("null && true", nil), ("1 && true", nil),
        // A failure leaves the other sides of || to decide.
        ("1 < 'a' || true", true), ("'a' || true", true), ("'a' || false", nil), ("'a' || 1 < 'a' || true", true),
        ("(1 < 'a' || false) || true", true), ("!(1 < 'a' || true)", false), ("true && ('a' || true)", true),
        ("true && true && false", false), ("false || false || true", true),
        ("auth != null && auth.sub == $uid", true), ("auth == null || auth.sub == $uid", true),
        // Precedence.
        ("true || true && false", true), ("(true || true) && false", false), ("!false == true", true),
        ("!(false == true)", true), ("1 < 2 && 2 < 3 || false", true), ("false && false || true", true),
        (" \n\ttrue", true),
    ]

    @Test("gives the expected result, and fails where an operator gets another type", arguments: 0..<claims.count)
    func meaning(place: Int) throws {
        let (text, expected) = Self.claims[place]
        let fixture = ReadRulesFixture()
        let rules = try ReadRulesFixture.rules(text, at: ["contacts", "$uid"])
        #expect(fixture.mayRead(rules, ["contacts", "u1", "phone"]) == (expected ?? false), "\(text)")
        // The negation of a failure fails too.
        let negation = try ReadRulesFixture.rules("!(\(text))", at: ["contacts", "$uid"])
        #expect(
            fixture.mayRead(negation, ["contacts", "u1", "phone"]) == (expected.map { !$0 } ?? false), "!(\(text))")
    }

    @Test("does not hold for a caller without a token where the rule asks for the user")
    func withoutUser() throws {
        var fixture = ReadRulesFixture()
        for auth in [nil, JSONValue.null] {
            fixture.auth = auth
            for (text, isTrue) in [
                ("auth != null && auth.sub == $uid", false), ("auth == null", true), ("auth.sub == null", true),
                ("auth.sub == $uid", false), ("root.members[auth.sub] == true", false), ("auth != null", false),
            ] {
                let rules = try ReadRulesFixture.rules(text, at: ["contacts", "$uid"])
                #expect(fixture.mayRead(rules, ["contacts", "u1"]) == isTrue, "\(text)")
            }
        }
    }

    @Test("rounds the time down to whole milliseconds, before 1970 too")
    func time() throws {
        var fixture = ReadRulesFixture()
        for (microseconds, text) in [
            (Int64(0), "now == 0"), (-1, "now == -1"), (-1_000, "now == -1"), (1_999, "now == 1"),
            (.min, "now == -9223372036854776"), (.max, "now == 9223372036854775"),
        ] {
            fixture.now = .init(microseconds: microseconds)
            #expect(fixture.mayRead(try ReadRulesFixture.rules(text, at: []), []) == true, "\(text)")
        }
    }

    @Test("treats numbers beyond the range of exact decimals as something that equals nothing")
    func hugeNumbers() throws {
        var fixture = ReadRulesFixture()
        fixture.auth = ["n": .number(.literal("1e9999999")), "m": .number(.literal("1e308"))]
        for (text, isTrue) in [
            ("auth.n != null", true), ("auth.n == auth.n", false), ("auth.n > 0", false), ("auth.m > 0", true),
            ("auth.m == auth.m", true),
        ] {
            #expect(fixture.mayRead(try ReadRulesFixture.rules(text, at: []), []) == isTrue, "\(text)")
        }
    }
}

@Suite("The rules of an app's tree")
struct ReadRulesTreeTests {
    private let fixture = ReadRulesFixture()

    @Test("allow nothing if there are none, or none holds")
    func denied() throws {
        for path in [[], ["contacts"], ["contacts", "u1"]] {
            #expect(fixture.mayRead(.none, path) == false)
            for text in ["{}", #"{".read": false}"#, #"{"contacts": {}}"#, #"{".read": "auth.sub == 'u9'"}"#] {
                #expect(fixture.mayRead(try ReadRulesFixture.rules(text), path) == false, "\(text) \(path)")
            }
        }
    }

    @Test("allow a node if a rule at it or above it holds, and never because of a rule below")
    func inherited() throws {
        let rules = try ReadRulesFixture.rules(
            #"{"contacts": {".read": false, "u1": {".read": true, "phone": {".read": false}}}, "b": {".read": true}}"#)
        for (path, isTrue) in [
            ([], false), (["contacts"], false), (["contacts", "u1"], true), (["contacts", "u1", "phone"], true),
            (["contacts", "u1", "x", "y", "z"], true), (["contacts", "u2"], false), (["contacts", "u1x"], false),
            (["contacts", "u"], false), (["u1"], false), (["b"], true), (["c"], false),
        ] {
            #expect(fixture.mayRead(rules, path) == isTrue, "\(path)")
        }
    }

    @Test("bind $name to the key of a child without rules of its own, for all rules below")
    func variables() throws {
        let rules = try ReadRulesFixture.rules(
            """
            {"$kind": {
                "$uid": {".read": "$kind == 'contacts' && $uid == auth.sub", "shared": {".read": "$uid == 'u2'"}},
                "u3": {}
            }}
            """)
        for (path, isTrue) in [
            (["contacts", "u1"], true), (["contacts", "u2"], false), (["others", "u1"], false),
            (["contacts", "u2", "shared"], true), (["contacts", "u1", "shared"], true), (["contacts", "u3"], false),
            (["contacts", "u3", "shared"], false), (["contacts"], false),
        ] {
            #expect(fixture.mayRead(rules, path) == isTrue, "\(path)")
        }
    }

    @Test("see the data of the node where they stand")
    func ownData() throws {
        let rules = try ReadRulesFixture.rules(
            #"{"contacts": {"$uid": {".read": "data.isPublic == true", "phone": {".read": "data == '2'"}}}}"#)
        #expect(fixture.mayRead(rules, ["contacts", "u1", "phone"]) == true)
        #expect(fixture.mayRead(rules, ["contacts", "u2"]) == false)
        #expect(fixture.mayRead(rules, ["contacts", "u2", "phone"]) == true)
        #expect(
            fixture.lookups(rules, at: ["contacts", "u2", "phone", "x"]) == [
                ["contacts", "u2", "isPublic"], ["contacts", "u2", "phone"],
            ])
    }

    @Test("find each of thousands of children by its bytes")
    func manyChildren() throws {
        let names = (0..<2_000).map { "k\($0 * 7)" } + ["\u{e9}", "e\u{301}", "z"]
        let members = names.enumerated().map { JSONMember($1, [".read": .bool($0.isMultiple(of: 2))]) }
        let rules = try ReadRules.read(
            .object(JSONObject(members + [JSONMember("$other", [".read": "$other == 'k1'"])])))
        for (place, name) in names.enumerated() {
            #expect(fixture.mayRead(rules, [name]) == place.isMultiple(of: 2), "\(name)")
        }
        #expect(fixture.mayRead(rules, ["k1"]) == true)
        #expect(fixture.mayRead(rules, ["k2"]) == false)
    }

    @Test("name their look-ups before the evaluation: different ones, without those that find nothing")
    func lookups() throws {
        let rules = try ReadRulesFixture.rules(
            #"""
            {".read": "root.version == 4 || root.members[auth.sub] == 1",
             "contacts": {".read": "root.members.u1 == 2 || root[auth.slash] == true || data[auth.gone] == true",
                 "$uid": {".read": "data.a == 1 || data.a == 2 || root.contacts[$uid].a == 3 || root.x[1 < 'a'] == 4"}}}
            """#)
        #expect(fixture.lookups(rules, at: []) == [["version"], ["members", "u1"]])
        #expect(
            fixture.lookups(rules, at: ["contacts", "u2"]) == [
                ["version"], ["members", "u1"], ["contacts", "u2", "a"],
            ])
        #expect(fixture.mayRead(rules, ["contacts", "u2"]) == false)
        let whole = try ReadRulesFixture.rules(#"{"a": {".read": "data == 1 || root == 1"}}"#)
        #expect(fixture.lookups(whole, at: ["a", "b"]) == [["a"], []])
        let nothing = try ReadRulesFixture.rules("root[''] || data[auth.empty] || root[1] || root['a/b']", at: [])
        #expect(fixture.lookups(nothing, at: []) == [])
        let spelled = try ReadRulesFixture.rules("data['\u{e9}'] || data['e\u{301}']", at: [])
        #expect(fixture.lookups(spelled, at: []).count == 2)
    }

    @Test("need no look-up if a rule holds without data")
    func withoutLookups() throws {
        let rules = try ReadRulesFixture.rules(
            #"{".read": "data.x == 1", "contacts": {".read": "auth.sub == 'u1'"}, "open": {".read": true}}"#)
        #expect(fixture.lookups(rules, at: ["contacts"]) == [])
        #expect(fixture.mayRead(rules, ["contacts"]) == true)
        var other = fixture
        other.auth = ["sub": "u2"]
        #expect(other.lookups(rules, at: ["contacts"]) == [["x"]])
        #expect(other.mayRead(rules, ["contacts"]) == false)
        #expect(other.mayRead(rules, ["open", "x"]) == true)
    }

    @Test("say whether the answer may depend on the user, and whether it may change by data or time")
    func dependencies() throws {
        let rules = try ReadRulesFixture.rules(
            #"""
            {"user": {".read": "auth != null"}, "index": {".read": "root.members[auth.sub] == true"},
             "data": {".read": "data.isPublic == true", "open": {".read": true}}, "time": {".read": "now > 5"},
             "open": {".read": true, "user": {".read": "auth.sub == data.owner"}}, "shut": {".read": false},
             "$key": {".read": "$key == 'x'"}}
            """#)
        for (path, namesAuth, mayChange) in [
            ([], false, false), (["user"], true, false), (["user", "below"], true, false), (["index"], true, true),
            (["data"], false, true), (["data", "open"], false, false), (["time"], false, true),
            (["open"], false, false), (["open", "user"], false, false), (["shut"], false, false),
            (["other"], false, false),
        ] {
            #expect(rules.namesAuth(at: path) == namesAuth, "\(path)")
            #expect(rules.mayChange(at: path) == mayChange, "\(path)")
        }
        #expect(!ReadRules.none.namesAuth(at: ["a"]) && !ReadRules.none.mayChange(at: ["a"]))
    }

    @Test("list the claims that they name, once each, unless a name is computed")
    func claims() throws {
        let rules = try ReadRulesFixture.rules(
            #"{"a": {".read": "auth.sub == auth.org.id"}, "$b": {".read": "auth['first name'] != null || auth.sub == $b"}}"#
        )
        #expect(rules.claims == .only(["sub", "org", "first name"]))
        #expect(try ReadRulesFixture.rules("auth != null", at: []).claims == .only([]))
        #expect(try ReadRulesFixture.rules("auth.a == auth[$b]", at: ["$b"]).claims == .all)
        #expect(try ReadRulesFixture.rules("auth.a[$b] == root[auth.c]", at: ["$b"]).claims == .only(["a", "c"]))
    }
}
