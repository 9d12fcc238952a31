import Expressions
import JSON
import TestSupport
import Testing

private func repeated(_ text: String, _ count: Int) -> String { String(repeating: text, count: count) }

private func joined(_ text: String, _ count: Int, by joiner: String) -> String {
    Array(repeating: text, count: count).joined(separator: joiner)
}

@Suite("Rules that cannot be used")
struct ReadRulesFaultTests {
    typealias Reason = ReadRuleFault.Reason

    /// Nodes that are no rules, each with the place at fault.
    static let nodes: [(String, [String], Reason)] = [
        ("true", [], .notAnObject), ("[]", [], .notAnObject), (#"{"a": null}"#, ["a"], .notAnObject),
        (#"{"a": {"b": "true"}}"#, ["a", "b"], .notAnObject),
        (#"{".read": null}"#, [".read"], .readOfOtherKind), (#"{".read": 1}"#, [".read"], .readOfOtherKind),
        (#"{"a": {".read": {}}}"#, ["a", ".read"], .readOfOtherKind),
        (#"{".write": true}"#, [".write"], .unknownMember), (#"{"a": {".": {}}}"#, ["a", "."], .unknownMember),
        (#"{".Read": true}"#, [".Read"], .unknownMember), (#"{"": {}}"#, [""], .childName),
        (#"{"a/b": {}}"#, ["a/b"], .childName), (#"{"$": {}}"#, ["$"], .variableName),
        (#"{"$a-b": {}}"#, ["$a-b"], .variableName), (#"{"$1": {}}"#, ["$1"], .variableName),
        ("{\"$\u{301}a\": {}}", ["$\u{301}a"], .variableName),
        (#"{"x": {"$a": {}, "b": {}, "$c": {}}}"#, ["x", "$c"], .twoVariables),
        (#"{"$a": {"b": {"$a": {}}}}"#, ["$a", "b", "$a"], .variableBoundTwice("a")),
        (repeated(#"{"a":"#, 33) + "{}" + repeated("}", 33), Array(repeating: "a", count: 33), .tooManyLevels),
    ]

    @Test("report the place of the faulty node", arguments: 0..<nodes.count)
    func refusedNode(place: Int) throws {
        let (text, tokens, reason) = Self.nodes[place]
        let value = try JSONReader.read(Array(text.utf8), limits: .trusted)
        let fault = #expect(throws: ReadRuleFault.self) { try ReadRules.read(value, at: .root / "rules") }
        #expect(fault == ReadRuleFault(reason, at: JSONPointer(tokens: ["rules"] + tokens)), "\(text)")
    }

    /// Expressions that do not parse, each with the position at fault.
    static let expressions: [(String, Int, Reason)] = [
        ("", 1, .unexpected(.end, expected: [.value])), ("  ", 3, .unexpected(.end, expected: [.value])),
        ("auth = null", 6, .unexpected(.symbol("="), expected: [.operator, .end])),
        ("auth === null", 8, .unexpected(.symbol("="), expected: [.value])),
        ("auth <> null", 6, .unexpected(.symbol("<>"), expected: [.operator, .end])),
        ("auth and true", 6, .unexpected(.identifier("and"), expected: [.operator, .end])),
        ("true & false", 6, .unexpected(.symbol("&"), expected: [.operator, .end])),
        ("true &&", 8, .unexpected(.end, expected: [.value])),
        ("|| true", 1, .unexpected(.symbol("||"), expected: [.value])),
        ("!", 2, .unexpected(.end, expected: [.value])),
        ("now + 1", 5, .unexpected(.symbol("+"), expected: [.operator, .end])),
        ("(true", 6, .unexpected(.end, expected: [.operator, .closingParenthesis])),
        ("true)", 5, .unexpected(.symbol(")"), expected: [.operator, .end])),
        ("()", 2, .unexpected(.symbol(")"), expected: [.value])),
        ("auth.", 6, .unexpected(.end, expected: [.memberName])),
        ("auth.'sub'", 6, .unexpected(.text, expected: [.memberName])),
        ("auth.$uid", 6, .unexpected(.variable("uid"), expected: [.memberName])),
        ("auth.1", 6, .unexpected(.number, expected: [.memberName])),
        ("auth[]", 6, .unexpected(.symbol("]"), expected: [.value])),
        ("auth['sub'", 11, .unexpected(.end, expected: [.operator, .closingBracket])),
        ("data.exists()", 12, .unexpected(.symbol("("), expected: [.operator, .end])),
        ("'a'.b", 4, .unexpected(.symbol("."), expected: [.operator, .end])),
        ("true.b", 5, .unexpected(.symbol("."), expected: [.operator, .end])),
        ("(auth).sub", 7, .unexpected(.symbol("."), expected: [.operator, .end])),
        ("- auth", 3, .unexpected(.identifier("auth"), expected: [.number])),
        ("-'a'", 2, .unexpected(.text, expected: [.number])),
        ("--1", 2, .unexpected(.symbol("-"), expected: [.number])),
        ("1e5", 1, .unexpected(.quantity, expected: [.value])),
        ("30d", 1, .unexpected(.quantity, expected: [.value])),
        ("[1]", 1, .unexpected(.symbol("["), expected: [.value])),
        ("ä == 'x'", 1, .unexpected(.character, expected: [.value])),
        ("'ä' == “x”", 8, .unexpected(.character, expected: [.value])),
        ("$ == 'x'", 1, .unexpected(.character, expected: [.value])),
        ("$1 == 'x'", 1, .unexpected(.character, expected: [.value])),
        ("user == 'x'", 1, .unknownName("user")), ("'ä' == Auth.sub", 8, .unknownName("Auth")),
        ("undefined", 1, .unknownName("undefined")), ("newData != null", 1, .unknownName("newData")),
        ("auth.uid == $uid", 6, .memberOfFirebase("uid")), ("auth . token.admin", 8, .memberOfFirebase("token")),
        ("root.a[auth.uid]", 13, .memberOfFirebase("uid")),
        ("$uid == 'x' && $other == 'y'", 16, .unboundVariable("other")), ("$Uid == 'x'", 1, .unboundVariable("Uid")),
        ("$below == 'x'", 1, .unboundVariable("below")),
        ("root[data.a] == 1", 6, .lookupInIndex), ("auth[auth[root.a]] == 1", 11, .lookupInIndex),
        ("root[auth.a][data] == 1", 14, .lookupInIndex), ("root.a[(true && data.b)] == 1", 17, .lookupInIndex),
        ("1 < 2 < 3", 7, .chainedComparison), ("true == false != true", 15, .chainedComparison),
        ("(1 < 2) == true == true", 17, .chainedComparison),
        ("'a", 1, .quotedText(.notClosed)), ("auth.sub == 'a\\n'", 15, .quotedText(.unknownEscape)),
        ("'ä' == 'a\u{7}'", 10, .quotedText(.controlCharacter)),
        (repeated("(", 17) + "true", 17, .tooDeep), (repeated("!", 17) + "true", 17, .tooDeep),
        (repeated("!(", 8) + "auth[auth['x']]", 21, .tooDeep), ("auth" + repeated("[auth", 17), 85, .tooDeep),
        (joined("true", 513, by: "||"), 3_073, .tooManyTokens),
        ((0..<9).map { "data.k\($0)" }.joined(separator: "||"), 73, .tooManyLookups),
        (repeated(" ", 4_097), 1, .tooLong(bytes: 4_097)),
    ]

    @Test("report the position in their expression, and what was expected there", arguments: 0..<expressions.count)
    func refusedExpression(place: Int) throws {
        let (text, position, reason) = Self.expressions[place]
        let rules: JSONValue = ["contacts": ["$uid": [".read": .string(text), "$below": [:]]]]
        let fault = #expect(throws: ReadRuleFault.self) { try ReadRules.read(rules) }
        let pointer = JSONPointer(tokens: ["contacts", "$uid", ".read"])
        #expect(fault == ReadRuleFault(reason, at: pointer, position: position), "\(text)")
    }

    @Test("must exceed a limit: rules exactly at each limit are read")
    func atTheLimits() throws {
        for text in [
            repeated("(", 16) + "true" + repeated(")", 16), repeated("!", 16) + "true", joined("(true)", 100, by: "||"),
            "auth" + repeated("[auth", 16) + repeated("]", 16), joined("!true", 17, by: "&&"),
            "!" + joined("true", 512, by: "||"), "true" + repeated(" ", 4_092),
            (0..<8).map { "data.k\($0) == data.k\($0)" }.joined(separator: "&&"),
        ] { _ = try ReadRulesFixture.rules(text, at: ["a"]) }
        _ = try ReadRulesFixture.rules(repeated(#"{"a":"#, 32) + "{}" + repeated("}", 32))
        _ = try JSONReader.read(
            Array((#"{"rules":"# + repeated(#"{"a":"#, 32) + "{}" + repeated("}", 33)).utf8),
            limits: ReadRuleLimits.json)
    }

    @Test("count look-ups and tokens with the rules above them, and not with those beside them")
    func summedLimits() throws {
        func lookups(_ numbers: Range<Int>) -> JSONValue {
            .string(numbers.map { "root.k\($0)" }.joined(separator: "||"))
        }
        // A rule may be written after the children of its node, and repeats cost nothing.
        let below: JSONValue = [".read": lookups(4..<9)]
        let fault = #expect(throws: ReadRuleFault.self) {
            try ReadRules.read(["a": ["b": below, ".read": lookups(0..<4)]])
        }
        #expect(
            fault
                == ReadRuleFault(
                    .tooManyLookups, at: JSONPointer(tokens: ["a", "b", ".read"]), position: 37))
        _ = try ReadRules.read(["a": ["b": [".read": lookups(3..<8)], ".read": lookups(0..<4)]])
        _ = try ReadRules.read(["a": ["b": below, "c": [".read": lookups(0..<4)]]])

        let half = JSONValue.string(joined("true", 257, by: "||"))
        let tokens = #expect(throws: ReadRuleFault.self) {
            try ReadRules.read(["a": [".read": half, "b": [".read": half]]])
        }
        #expect(
            tokens
                == ReadRuleFault(
                    .tooManyTokens, at: JSONPointer(tokens: ["a", "b", ".read"]), position: 1_535))
        _ = try ReadRules.read(["a": [".read": half], "b": [".read": half]])
    }
}

@Suite("Random read rules from a seed")
struct ReadRulesFuzzTests {
    private static let pieces = [
        "auth", "data", "root", "now", "$uid", "$x", "true", "false", "null", ".sub", ".a", "['a']", "[", "]", "(", ")",
        "!", "==", "!=", "<", "<=", ">", ">=", "&&", "||", "1", "-", "2.5", "'u1'", "\"", "'", "\\", "ä", "\0", " ",
        ".",
        "30d", "[auth.sub]", "[$uid]", "$",
    ]
    private static let grown = ["auth.sub", "data.a", "root[$uid]", "now", "$uid", "true", "null", "1", "'u1'"]

    /// A valid expression.
    private static func expression(_ generator: inout SeededGenerator, depth: Int) -> String {
        func deeper() -> String { expression(&generator, depth: depth - 1) }
        guard depth > 0 else { return grown[Int.random(in: 0..<grown.count, using: &generator)] }
        switch Int.random(in: 0..<5, using: &generator) {
        case 0: return "(\(deeper()))"
        case 1: return "!(\(deeper()))"
        case 2:
            return "(\(deeper())) \(["==", "!=", "<", ">="][Int.random(in: 0..<4, using: &generator)]) (\(deeper()))"
        case 3: return "(\(deeper())) \(Bool.random(using: &generator) ? "&&" : "||") (\(deeper()))"
        default: return deeper()
        }
    }

    private static func ask(_ rules: ReadRules, _ note: String) {
        var fixture = ReadRulesFixture()
        for auth in [fixture.auth, nil] {
            fixture.auth = auth
            for path in [[], ["contacts"], ["contacts", "u1"], ["contacts", "u1", "a"]] {
                #expect(fixture.mayRead(rules, path) != nil, "\(note): a value was asked that was not announced")
                if !rules.mayChange(at: path) { #expect(fixture.lookups(rules, at: path).isEmpty, "\(note)") }
            }
        }
    }

    @Test("never crash, fail within their expression, and ask only for announced values", arguments: UInt64(1)...20)
    func noise(seed: UInt64) throws {
        var generator = SeededGenerator(seed: seed)
        var understood = 0
        for _ in 0..<500 {
            var scalars = Array(Self.expression(&generator, depth: 4).unicodeScalars)
            for _ in 0..<Int.random(in: 0...2, using: &generator) {
                let place = Int.random(in: 0...scalars.count, using: &generator)
                let piece = Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &generator)]
                scalars.insert(contentsOf: piece.unicodeScalars, at: place)
            }
            var text = ""
            text.unicodeScalars.append(contentsOf: scalars)
            do throws(ReadRuleFault) {
                let rules = try ReadRules.read(["contacts": ["$uid": [".read": .string(text)]]])
                understood += 1
                Self.ask(rules, "seed \(seed): \(text)")
            } catch {
                #expect((1...scalars.count + 1).contains(error.position ?? 0), "seed \(seed): \(text)")
            }
        }
        #expect(understood > 100)
    }

    @Test("never crash as a random sequence of pieces or bytes", arguments: UInt64(1)...20)
    func pieces(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            let count = Int.random(in: 0...12, using: &generator)
            let pieces = (0..<count).map { _ in Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &generator)] }
            let bytes = (0..<count * 2).map { _ in UInt8.random(in: .min ... .max, using: &generator) }
            for text in [pieces.joined(), String(decoding: bytes, as: UTF8.self)] {
                guard let rules = try? ReadRules.read(["contacts": ["$uid": [".read": .string(text)]]]) else {
                    continue
                }
                Self.ask(rules, "seed \(seed): \(text)")
            }
        }
    }

    @Test("never crash as a random tree of nodes", arguments: UInt64(1)...20)
    func trees(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        func node(_ depth: Int) -> JSONValue {
            let names = [".read", "contacts", "u1", "$uid", "$x", "", "a/b", ".write", "$"]
            var object = JSONObject()
            for name in names where Int.random(in: 0..<9, using: &generator) < (name.utf8.count > 2 ? 5 : 1) {
                let isRead = name == ".read"
                object[name] =
                    isRead ? .string(Self.expression(&generator, depth: 2)) : depth > 0 ? node(depth - 1) : [:]
            }
            return .object(object)
        }
        for _ in 0..<200 {
            guard let rules = try? ReadRules.read(node(3)) else { continue }
            Self.ask(rules, "seed \(seed)")
        }
    }
}
