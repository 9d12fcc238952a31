import Expressions
import JSON
import TestSupport
import Testing

@Suite("A comparison with a claim that is missing")
struct MissingClaimTests {
    /// Expressions at `/contacts/$uid`, asked about `/contacts/u1`, where `gone` is missing in claims and in data.
    private static let compared: [(String, Bool?)] = [
        ("auth.gone == data.gone", nil), ("data.gone == auth.gone", nil), ("auth.gone != data.gone", nil),
        ("auth.gone == 'u1'", nil), ("auth.gone != 'u1'", nil), ("auth.gone == $uid", nil), ("auth.gone == now", nil),
        ("auth.gone == auth.sub", nil), ("auth.gone == auth.lost", nil), ("auth.gone == auth.gone", nil),
        ("auth.gone == true", nil), ("auth.gone != false", nil), ("auth.gone < 1", nil), ("auth.gone >= 'a'", nil),
        ("auth.gone == root.owners[$uid]", nil), ("root.owners[$uid] != auth.gone", nil),
        // A claim that is null is missing too, as is a member of what has none.
        ("auth.none == data.gone", nil), ("auth.none != 'u1'", nil), ("auth.gone.further == data.gone", nil),
        ("auth.sub.further == data.gone", nil), ("auth.roles['0'] == data.gone", nil), ("auth.org.x == data.gone", nil),
        ("auth[$uid] == data.gone", nil), ("auth[auth.gone] == data.gone", nil), ("auth[1] == data.gone", nil),
        // An index that is missing.
        ("root.members[auth.gone] == true", nil), ("root.members[auth.gone] != true", nil),
        ("root.members[auth.gone] == data.gone", nil), ("data[auth.gone] == root.gone", nil),
        ("root.members[auth.gone].x == data.gone", nil), ("root.members[auth[auth.gone]] == data.gone", nil),
        // A missing claim or index equals the literal null, on either side.
        ("auth.gone == null", true), ("null == auth.gone", true), ("auth.gone != null", false),
        ("auth.gone == (null)", true), ("auth.none == null", true), ("auth.sub.further == null", true),
        ("root.members[auth.gone] == null", true), ("root.members[auth.gone] != null", false),
        ("auth.gone < null", nil),
        // Missing data is null to a claim that the user has.
        ("auth.sub == data.gone", false), ("auth.sub != data.gone", true), ("auth.admin == data.gone", false),
        ("auth.org == data.gone", false), ("data.gone == root.gone", true),
        // The other sides decide, where they may.
        ("auth.gone == data.gone || true", true), ("auth.gone == data.gone || false", nil),
        ("auth.gone == data.gone || auth.sub == $uid", true), ("auth.sub == $uid || auth.gone == data.gone", true),
        ("auth.gone == data.gone && true", nil), ("auth.gone == data.gone && false", nil),
        ("true && auth.gone == data.gone", nil), ("false && auth.gone == data.gone", false),
        ("!(auth.gone == data.gone) || data.isPublic", true), ("(auth.gone == data.gone) == false", nil),
    ]

    private func verdicts(_ text: String, _ fixture: ReadRulesFixture) throws -> [Bool?] {
        try [text, "!(\(text))"].map {
            fixture.mayRead(try ReadRulesFixture.rules($0, at: ["contacts", "$uid"]), ["contacts", "u1"])
        }
    }

    @Test("fails, and so does its negation, unless it is with the literal null", arguments: 0..<compared.count)
    func meaning(index: Int) throws {
        let (text, expected) = Self.compared[index]
        #expect(
            try verdicts(text, ReadRulesFixture()) == [expected ?? false, expected.map { !$0 } ?? false], "\(text)")
    }

    @Test("fails in the same way for every claim of a caller without a token")
    func anonymous() throws {
        var fixture = ReadRulesFixture()
        for auth in [nil, JSONValue.null] {
            fixture.auth = auth
            for (text, expected) in [
                ("auth.sub == data.owner", nil), ("auth.sub != data.owner", nil), ("auth.sub == auth.sub", nil),
                ("root.owners[$uid] == auth.sub", nil), ("root.members[auth.sub] == root.gone", nil),
                ("root.members[auth.sub] != true", nil), ("auth == data.owner", nil), ("auth != data.owner", nil),
                ("auth == auth", nil), ("auth['first name'] == data.owner", nil), ("auth[$uid] == data.owner", nil),
                ("auth == null", true), ("auth != null", false), ("auth.sub == null", true),
                ("auth.org.id != null", false),
                ("auth == null || auth.sub == $uid", true), ("auth.sub == data.owner || data.isPublic", true),
            ] as [(String, Bool?)] {
                #expect(
                    try verdicts(text, fixture) == [expected ?? false, expected.map { !$0 } ?? false], "\(text)")
            }
        }
    }
}

@Suite("Random read rules and what they mean")
struct ReadRulesModelTests {
    private enum Meaning: Equatable {
        case fails
        case missing
        case null
        case bool(Bool)
        case number(Int)
        case text(String)
        case structure

        var claim: Bool? { if case .bool(let claim) = self { claim } else { nil } }

        static func of(_ claim: Bool?) -> Meaning { claim.map(Meaning.bool) ?? .fails }
    }

    private struct Sample {
        let text: String
        let meaning: Meaning
        var isNull = false
    }

    private static let constants: [Sample] = [
        Sample(text: "null", meaning: .null, isNull: true), Sample(text: "(null)", meaning: .null, isNull: true),
        Sample(text: "true", meaning: .bool(true)), Sample(text: "false", meaning: .bool(false)),
        Sample(text: "36", meaning: .number(36)), Sample(text: "'u1'", meaning: .text("u1")),
        Sample(text: "$uid", meaning: .text("u1")), Sample(text: "data.isPublic", meaning: .bool(true)),
        Sample(text: "data.age", meaning: .number(36)), Sample(text: "data.gone", meaning: .null),
        Sample(text: "data", meaning: .structure), Sample(text: "root.members[1]", meaning: .null),
        Sample(text: "root[1 < 'a']", meaning: .fails), Sample(text: "auth.gone", meaning: .missing),
        Sample(text: "auth.none", meaning: .missing), Sample(text: "auth[auth.gone]", meaning: .missing),
        Sample(text: "root.members[auth.gone]", meaning: .missing), Sample(text: "auth[!1]", meaning: .fails),
    ]
    /// Each with its meaning for the user; without one it is missing.
    private static let claims: [Sample] = [
        Sample(text: "auth", meaning: .structure), Sample(text: "auth.sub", meaning: .text("u1")),
        Sample(text: "auth.age", meaning: .number(36)), Sample(text: "auth.admin", meaning: .bool(false)),
        Sample(text: "auth.org.id", meaning: .text("o1")), Sample(text: "auth['sub']", meaning: .text("u1")),
        Sample(text: "root.members[auth.sub]", meaning: .bool(true)),
    ]

    private static func leaf(_ generator: inout SeededGenerator, hasUser: Bool) -> Sample {
        if Bool.random(using: &generator) { return constants[Int.random(in: 0..<constants.count, using: &generator)] }
        let sample = claims[Int.random(in: 0..<claims.count, using: &generator)]
        return Sample(text: sample.text, meaning: hasUser ? sample.meaning : .missing)
    }

    private static func sample(_ generator: inout SeededGenerator, depth: Int, hasUser: Bool) -> Sample {
        guard depth > 0 else { return leaf(&generator, hasUser: hasUser) }
        let kind = Int.random(in: 0..<6, using: &generator)
        let one = sample(&generator, depth: depth - 1, hasUser: hasUser)
        if kind == 0 { return Sample(text: "!(\(one.text))", meaning: .of(one.meaning.claim.map { !$0 })) }
        let other = sample(&generator, depth: depth - 1, hasUser: hasUser)
        let (left, right) = (one.meaning.claim, other.meaning.claim)
        switch kind {
        case 1, 2:
            let claim: Bool? = left == true || right == true ? true : left == nil || right == nil ? nil : false
            return Sample(text: "(\(one.text)) || (\(other.text))", meaning: .of(claim))
        case 3: return Sample(text: "(\(one.text)) && (\(other.text))", meaning: .of(left == true ? right : left))
        case 4: return compare(one, "==", other)
        default: return compare(one, "!=", other)
        }
    }

    private static func compare(_ one: Sample, _ symbol: String, _ other: Sample) -> Sample {
        let isWithNull = one.isNull || other.isNull
        let sides = [one.meaning, other.meaning].map { isWithNull && $0 == .missing ? .null : $0 }
        let fails = sides.contains(.fails) || sides.contains(.missing)
        let areEqual = sides[0] == sides[1] && sides[0] != .structure
        return Sample(
            text: "(\(one.text)) \(symbol) (\(other.text))",
            meaning: .of(fails ? nil : areEqual == (symbol == "==")))
    }

    @Test("agree with a model of three values: true, false and failure", arguments: UInt64(1)...20)
    func model(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<300 {
            for hasUser in [true, false] {
                let sample = Self.sample(&generator, depth: 3, hasUser: hasUser)
                var fixture = ReadRulesFixture()
                if !hasUser { fixture.auth = nil }
                let rules = try ReadRulesFixture.rules(sample.text, at: ["contacts", "$uid"])
                let mayRead = fixture.mayRead(rules, ["contacts", "u1"])
                #expect(mayRead == (sample.meaning.claim == true), "seed \(seed), user \(hasUser): \(sample.text)")
            }
        }
    }
}
