import Basis
import Expressions
import JSON

/// An app's tree and a user, to ask rules about.
struct ReadRulesFixture {
    var data: JSONValue = [
        "contacts": [
            "u1": ["phone": "1", "isPublic": true, "age": 36],
            "u2": ["phone": "2", "isPublic": false, "tags": ["a", "b"]],
        ],
        "members": ["u1": true, "u2": "yes", "äöü": true],
        "version": 3, "opensAt": 1_700_000_000_000,
    ]
    var auth: JSONValue? = [
        "sub": "u1", "age": .number(.literal("36.0")), "admin": false, "roles": ["editor"],
        "org": ["id": "o1", "deep": ["x": "y"]],
        "first name": "given", "https://example.com/plan": "pro", "slash": "a/b", "empty": "", "none": .null,
    ]
    /// The claims that a subscription kept, instead of those above.
    var kept: UserClaims?
    var now = WallInstant(microseconds: 1_700_000_000_000_999)

    private var user: UserClaims? { kept ?? auth.map { UserClaims(ofToken: $0) } }

    static func rules(_ json: String) throws -> ReadRules {
        try ReadRules.read(JSONReader.read(Array(json.utf8), limits: ReadRuleLimits.json))
    }

    /// Rules with one expression, at this node.
    static func rules(_ expression: String, at node: [String]) throws -> ReadRules {
        var value: JSONValue = [".read": .string(expression)]
        for name in node.reversed() { value = .object(JSONObject([JSONMember(name, value)])) }
        return try ReadRules.read(value)
    }

    func value(at path: [String]) -> RuleValue {
        var place: JSONValue? = data
        for key in path { place = place?.object?[key] }
        return place.map(RuleValue.init) ?? .null
    }

    func lookups(_ rules: ReadRules, at path: [String]) -> [[String]] {
        rules.lookups(at: path, auth: user, now: now)
    }

    /// Asks as the service does: it reads the look-ups first, and nothing else.
    /// - Returns: nil if the rules asked for a value that they had not announced.
    func mayRead(_ rules: ReadRules, _ path: [String]) -> Bool? {
        let announced = lookups(rules, at: path)
        guard announced.count <= ReadRuleLimits.lookupsMax else { return nil }
        var isSurprised = false
        let mayRead = rules.mayRead(path, auth: user, now: now) { asked in
            if !announced.contains(asked) { isSurprised = true }
            return value(at: asked)
        }
        return isSurprised ? nil : mayRead
    }
}
