import TestSupport

/// Random triggers over a few fields, each with the outcome that Java's rules give it.
struct RandomTrigger {
    var random: SeededGenerator

    static let fields = ["low", "high", "name", "bad", "gone"]

    /// The values of the fields; `gone` has none.
    static func value(_ field: String) -> String? {
        switch field {
        case "low": "1"
        case "high": "100.0"
        case "name": "Anduct"
        case "bad": "1,5"
        default: nil
        }
    }

    /// Numbers as triggers write them; nil: the conversion fails.
    private static let numbers: [(text: String, number: Double?)] = [
        ("Double.parseDouble(${low})", 1), ("Integer.parseInt($[1])", 1), ("Double.parseDouble( ${high} )", 100),
        ("Integer.parseInt(${high})", nil), ("Double.parseDouble(${bad})", nil), ("Double.parseDouble($[5])", nil),
        ("100", 100), ("99.99999999999999999", 100), ("-0.0", 0), ("+ 1.0d", 1), ("(1e2)", 100), ("3000000000L", 3e9),
    ]

    private static let texts: [(text: String, content: String?)] = [
        ("${name}", "Anduct"), ("$[3]", "Anduct"), ("\"Anduct\"", "Anduct"), (#""A\156du\u0063t""#, "Anduct"),
        ("\"\"", ""), ("(${gone})", nil), ("${low}", "1"),
    ]

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &random)]
    }

    /// - Returns: the text, which is one operand of any operator, and the outcome; nil: it fails.
    mutating func condition(depth: Int) -> (text: String, outcome: Bool?) {
        switch depth > 0 ? Int.random(in: 0..<6, using: &random) : 0 {
        case 0: return comparison()
        case 1:
            let inner = condition(depth: depth - 1)
            return ("!\(inner.text)", inner.outcome.map { !$0 })
        case 2:
            let (one, other) = (condition(depth: depth - 1), condition(depth: depth - 1))
            let isEqual = Bool.random(using: &random)
            let text = "(\(one.text) \(isEqual ? "==" : "!=") \(other.text))"
            guard let first = one.outcome, let second = other.outcome else { return (text, nil) }
            return (text, (first == second) == isEqual)
        case 3: return chain("||", endsAt: true, depth: depth)
        default: return chain("&&", endsAt: false, depth: depth)
        }
    }

    /// The members are evaluated up to the first one that fails, or whose outcome decides.
    private mutating func chain(_ symbol: String, endsAt end: Bool, depth: Int) -> (text: String, outcome: Bool?) {
        let count = Int.random(in: 2...3, using: &random)
        let members = (0..<count).map { _ in condition(depth: depth - 1) }
        let text = "(" + members.map(\.text).joined(separator: " \(symbol) ") + ")"
        for member in members where member.outcome != !end { return (text, member.outcome) }
        return (text, !end)
    }

    private mutating func comparison() -> (text: String, outcome: Bool?) {
        if Int.random(in: 0..<4, using: &random) == 0 {
            let (one, other) = (pick(Self.texts), pick(Self.texts))
            let text = "\(one.text).equals(\(other.text))"
            guard let first = one.content, let second = other.content else { return (text, nil) }
            return (text, first == second)
        }
        let (left, right) = (pick(Self.numbers), pick(Self.numbers))
        let symbol = pick(["==", "!=", "<", "<=", ">", ">="])
        let text = "(\(left.text) \(symbol) \(right.text))"
        guard let one = left.number, let other = right.number else { return (text, nil) }
        switch symbol {
        case "==": return (text, one == other)
        case "!=": return (text, one != other)
        case "<": return (text, one < other)
        case "<=": return (text, one <= other)
        case ">": return (text, one > other)
        default: return (text, one >= other)
        }
    }
}
