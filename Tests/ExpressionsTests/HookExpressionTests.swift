import Basis
import Expressions
import JSON
import Model
import TestSupport
import Testing

/// A request of a user for some items and fields of an app with data.
private struct HookFixture {
    var items = ["item1"]
    var fields = ["last_price"]
    var trigger: String?
    var device = HookRequest.Device(installation: "phone-1", provider: .apns, topic: "com.example.stocks")
    var isActivation = true
    private let tree = ReadRulesFixture(
        data: [
            "members": ["u1": true], "prices": ["item1": ["last_price": true, "bid": true], "item2": ["bid": true]],
            "topic": "com.example.stocks",
        ])
    private let auth = UserClaims(ofToken: ["sub": "u1", "plan": "pro", "phones": ["phone-1"], "slash": "a/b"])

    var request: HookRequest {
        let activation = HookRequest.Activation(items: items, fields: fields, mode: "MERGE", trigger: trigger)
        return HookRequest(auth: auth, device: device, activation: isActivation ? activation : nil)
    }

    func lookups(_ hook: HookExpression) -> [[String]]? { hook.lookups(request, now: tree.now) }

    /// Asks as a service does: it reads the look-ups first, and nothing else.
    /// - Returns: nil if the hook asked for a value that it had not announced.
    func allows(_ hook: HookExpression) -> Bool? {
        guard let announced = lookups(hook) else { return false }
        var isSurprised = false
        let allows = hook.allows(request, now: tree.now) { asked in
            if !announced.contains(asked) { isSurprised = true }
            return tree.value(at: asked)
        }
        return isSurprised ? nil : allows
    }

    func allows(_ text: String, _ kind: HookExpression.Kind = .activation) throws -> Bool? {
        allows(try HookExpression(parsing: text, kind: kind))
    }
}

@Suite("A hook")
struct HookExpressionTests {
    @Test(
        "knows the user, the device, the time and the app's data", arguments: HookExpression.Kind.allCases)
    func common(kind: HookExpression.Kind) throws {
        var fixture = HookFixture()
        fixture.isActivation = kind == .activation
        for (text, isTrue) in [
            ("true", true), ("false", false), ("auth.sub == 'u1'", true), ("auth.plan == 'basic'", false),
            ("device.installation == 'phone-1'", true), ("device['provider'] == 'apns'", true),
            ("device.topic == root.topic", true), ("device.environment == null", true), ("device != null", true),
            ("device == device", false), ("root.members[auth.sub] == true", true), ("now > 0", true),
            ("root.members[device.installation] == true", false), ("device.topic.further == null", true),
        ] {
            #expect(try fixture.allows(text, kind) == isTrue, "\(text)")
        }
    }

    @Test(
        "denies a request if it fails, or is no condition",
        arguments: [
            "null", "'true'", "auth", "device", "1 < 'a'", "!(1 < 'a')", "auth.gone == 'x'", "auth.gone != 'x'",
            "device.gone != 'x'", "!device.gone", "trigger != 'x'", "!(trigger == 'x')", "trigger == root.gone",
        ])
    func failing(text: String) throws {
        #expect(try HookFixture().allows(text) == false)
    }

    @Test("takes a value that the request does not have for null, in comparison with null alone")
    func missing() throws {
        var fixture = HookFixture()
        fixture.device = HookRequest.Device(installation: "phone-2", provider: nil, topic: nil)
        #expect(try fixture.allows("trigger == null && device.provider == null && device.topic == null") == true)
        #expect(try fixture.allows("trigger == null || auth.plan == 'pro'") == true)
        #expect(try fixture.allows("trigger == 'x' || auth.plan == 'pro'") == true)
        #expect(try fixture.allows("device.topic == auth.gone") == false)
        fixture.trigger = "1 < 2"
        #expect(try fixture.allows("trigger == '1 < 2'") == true)
        #expect(try fixture.allows("trigger == null") == false)
    }

    @Test("must hold for each pair of an item and a field")
    func pairs() throws {
        var fixture = HookFixture()
        fixture.items = ["item1", "item2"]
        fixture.fields = ["bid"]
        #expect(try fixture.allows("root.prices[item][field] == true") == true)
        #expect(try fixture.allows("mode == 'MERGE' && item != 'item3' && field != 'ask'") == true)
        fixture.fields = ["bid", "last_price"]
        #expect(try fixture.allows("root.prices[item][field] == true") == false)
        #expect(try fixture.allows("item == 'item1'") == false)
        #expect(try fixture.allows("field == 'bid'") == false)
        #expect(try fixture.allows("item == 'item1' || field == 'bid' || auth.plan == 'pro'") == true)
    }

    @Test("names its look-ups before the evaluation, each once")
    func lookups() throws {
        var fixture = HookFixture()
        fixture.items = ["item1", "item2", "a/b"]
        fixture.fields = ["bid", "ask"]
        func lookups(_ text: String) throws -> [[String]]? {
            fixture.lookups(try HookExpression(parsing: text, kind: .activation))
        }
        #expect(try lookups("auth.sub == 'u1'") == [])
        #expect(try lookups("root.members[auth.sub] == true && root.members.u1 == true") == [["members", "u1"]])
        #expect(try lookups("root.items[item] == 1") == [["items", "item1"], ["items", "item2"]])
        #expect(
            try lookups("root[item][field] == 1") == [
                ["item1", "bid"], ["item1", "ask"], ["item2", "bid"], ["item2", "ask"],
            ])
        #expect(try lookups("root[auth.slash] == 1 || root[auth.gone] == 1") == [])
        #expect(try lookups("root[auth.slash] == 1 || root.a.b == 1") == [["a", "b"]])
    }

    @Test("denies a request that needs more than 100 different look-ups")
    func tooManyLookups() throws {
        var fixture = HookFixture()
        fixture.items = (0..<10).map { "item\($0)" }
        fixture.fields = (0..<10).map { "field\($0)" }
        let each = try HookExpression(parsing: "root[item][field] == null", kind: .activation)
        #expect(fixture.lookups(each)?.count == 100)
        #expect(fixture.allows(each) == true)
        let more = try HookExpression(parsing: "root[item][field] == null && root.a == null", kind: .activation)
        #expect(fixture.lookups(more) == nil)
        // The same look-up counts once, for however many pairs.
        fixture.items = (0..<50).map { "item\($0)" }
        fixture.fields = (0..<50).map { "field\($0)" }
        let shared = try HookExpression(parsing: "root.a[item] == null && field != root.b", kind: .activation)
        #expect(fixture.lookups(shared)?.count == 51)
        #expect(fixture.allows(shared) == true)
    }

    private static let activation = ["auth", "device", "item", "field", "mode", "trigger", "root", "now"]
    private static let others = ["auth", "device", "root", "now"]

    private static let faults: [(String, HookExpression.Kind, Int, ReadRuleFault.Reason)] = [
        ("data.a == 1", .activation, 1, .unknownInHook("data", names: activation)),
        ("1 == $uid", .activation, 6, .unknownInHook("$uid", names: activation)),
        ("'é' == item", .device, 8, .unknownInHook("item", names: others)),
        ("field == 'a'", .token, 1, .unknownInHook("field", names: others)),
        ("trigger == null", .device, 1, .unknownInHook("trigger", names: others)),
        ("items == 'a'", .activation, 1, .unknownInHook("items", names: activation)),
        ("", .device, 1, .unexpected(.end, expected: [.hookValue])),
        ("device.", .device, 8, .unexpected(.end, expected: [.memberName])),
        ("auth.uid == 'u1'", .device, 6, .memberOfFirebase("uid")),
        ("auth[root.a] == 1", .activation, 6, .lookupInIndex),
        ((0..<9).map { "root.k\($0)" }.joined(separator: "||"), .token, 73, .tooManyLookups),
        (String(repeating: "(", count: 17), .token, 17, .tooDeep),
        (String(repeating: " ", count: 4_097), .token, 1, .tooLong(bytes: 4_097)),
    ]

    @Test("reports the character and the reason if it cannot be used", arguments: 0..<faults.count)
    func refused(place: Int) {
        let (text, kind, position, reason) = Self.faults[place]
        let pointer = JSONPointer.root / "triggers" / "hooks"
        #expect(throws: ReadRuleFault(reason, at: pointer, position: position), "\(text)") {
            try HookExpression(parsing: text, kind: kind, at: pointer)
        }
    }
}

@Suite("Random hooks from a seed")
struct HookFuzzTests {
    private static let values = [
        "auth.sub", "device.installation", "device.topic", "item", "field", "mode", "trigger", "root.members[auth.sub]",
        "root.prices[item][field]", "root.prices[item]", "null", "true", "'item1'", "'bid'", "root[trigger]", "1",
    ]
    private static let pieces = ["(", ")", "!", "==", "data", "$x", "[", "]", ".", "'", "\0", "é", "&&", "root"]

    private static func expression(_ random: inout SeededGenerator, depth: Int) -> String {
        func deeper() -> String { expression(&random, depth: depth - 1) }
        guard depth > 0 else {
            let (one, other) = (
                values[Int.random(in: 0..<values.count, using: &random)],
                values[Int.random(in: 0..<values.count, using: &random)]
            )
            return "(\(one) \(["==", "!=", "<"][Int.random(in: 0..<3, using: &random)]) \(other))"
        }
        switch Int.random(in: 0..<3, using: &random) {
        case 0: return "!\(deeper())"
        case 1: return "(\(deeper()) && \(deeper()))"
        default: return "(\(deeper()) || \(deeper()))"
        }
    }

    @Test("allow a request exactly if they allow each of its pairs alone", arguments: UInt64(1)...10)
    func pairs(seed: UInt64) throws {
        var random = SeededGenerator(seed: seed)
        var outcomes = (allowed: 0, denied: 0)
        for _ in 0..<200 {
            let text = Self.expression(&random, depth: 2)
            guard let hook = try? HookExpression(parsing: text, kind: .activation) else { continue }
            var fixture = HookFixture()
            fixture.trigger = Bool.random(using: &random) ? "members" : nil
            fixture.items = ["item1", "item2"]
            fixture.fields = ["bid", "last_price"]
            let allowed = fixture.allows(hook)
            var expected = true
            for item in ["item1", "item2"] {
                for field in ["bid", "last_price"] {
                    (fixture.items, fixture.fields) = ([item], [field])
                    expected = fixture.allows(hook) == true && expected
                }
            }
            #expect(allowed == expected, "seed \(seed): \(text)")
            outcomes.allowed += expected ? 1 : 0
            outcomes.denied += expected ? 0 : 1
        }
        #expect(outcomes.allowed > 10 && outcomes.denied > 10)
    }

    @Test("never crash, and fail within their text", arguments: UInt64(1)...10)
    func noise(seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        for _ in 0..<500 {
            var scalars = Array(Self.expression(&random, depth: 2).unicodeScalars)
            for _ in 0..<Int.random(in: 0...2, using: &random) {
                let piece = Self.pieces[Int.random(in: 0..<Self.pieces.count, using: &random)]
                scalars.insert(
                    contentsOf: piece.unicodeScalars, at: Int.random(in: 0...scalars.count, using: &random))
            }
            var text = ""
            text.unicodeScalars.append(contentsOf: scalars)
            for kind in HookExpression.Kind.allCases {
                do throws(ReadRuleFault) {
                    let hook = try HookExpression(parsing: text, kind: kind)
                    #expect(HookFixture().allows(hook) != nil, "seed \(seed): \(text)")
                } catch {
                    #expect((1...scalars.count + 1).contains(error.position ?? 0), "seed \(seed): \(text)")
                }
            }
        }
    }
}
