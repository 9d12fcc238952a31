import TestSupport
import Testing
import TriggerRules

@Suite("The threshold of a trigger")
struct ThresholdTests {
    private static let fields = ["last_price", "pct_change", "stock_name"]

    private func parsed(_ trigger: String) throws -> Threshold? {
        try TriggerExpression(parsing: trigger, fields: Self.fields).threshold
    }

    @Test(
        "has the field's number at its left side, however the trigger is written",
        arguments: [
            "Double.parseDouble(${last_price}) > 100.0", "Double.parseDouble($[1]) > 99.99999999999999999",
            "100 < Double.parseDouble(${last_price})", "((Double.parseDouble(${last_price})) > (1e2))",
            "!(Double.parseDouble(${last_price}) <= 100)", "!(100L >= Double.parseDouble(${last_price}))",
            "!!(Double.parseDouble(${last_price}) > 100d)",
        ])
    func forms(trigger: String) throws {
        let threshold = try #require(try parsed(trigger))
        #expect(threshold.field == "last_price")
        #expect(threshold.conversion == .double)
        #expect(threshold.comparison == .more)
        #expect(threshold.bound == 100)
    }

    @Test("has a bound beyond the integers, or between two of them, for a number that is an integer")
    func integerBounds() throws {
        #expect(try parsed("Integer.parseInt(${last_price}) >= 2.5")?.bound == 2.5)
        #expect(try parsed("Integer.parseInt(${last_price}) != -3000000000L")?.bound == -3e9)
        #expect(try parsed("Integer.parseInt(${last_price}) < 1")?.conversion == .integer)
    }

    @Test("takes the negative zero for zero")
    func negativeZero() throws {
        let threshold = try #require(try parsed("Double.parseDouble(${last_price}) == -0.0"))
        #expect(threshold.bound.sign == .plus)
        #expect(threshold.includes(-0.0))
    }

    @Test(
        "does not exist if one number of one field decides nothing alone",
        arguments: [
            "Double.parseDouble(${last_price}) > Double.parseDouble(${pct_change})", "1 < 2",
            "Double.parseDouble(${last_price}) > 1 && Double.parseDouble(${last_price}) < 2",
            "Double.parseDouble(${last_price}) > 1 || ${stock_name}.equals(\"a\")", "${stock_name}.equals(\"a\")",
            "!${stock_name}.equals(\"a\")", "(Double.parseDouble(${last_price}) > 1) == (1 < 2)",
            "Double.parseDouble(\"5\") > 1",
        ])
    func unordered(trigger: String) throws { #expect(try parsed(trigger) == nil) }

    @Test(
        "stands for a trigger that asks for more, and for each side of one that asks for either",
        arguments: [
            ("Double.parseDouble(${last_price}) > 1 && Double.parseDouble(${last_price}) < 2", [1]),
            ("${stock_name}.equals(\"a\") && Double.parseDouble(${last_price}) > 2 && 1 < 2", [2]),
            ("Double.parseDouble(${last_price}) > 1 || Double.parseDouble(${pct_change}) < 2", [1, 2]),
            ("Double.parseDouble(${last_price}) > 1 || 1 < Double.parseDouble(${last_price})", [1]),
            ("(Double.parseDouble(${last_price}) > 1 || 1 < 2) && Integer.parseInt($[2]) > 3", [3]),
            ("Double.parseDouble(${last_price}) > 1 || ${stock_name}.equals(\"a\")", []),
            ("!(Double.parseDouble(${last_price}) > 1 && 1 < 2)", []),
        ] as [(String, [Double])])
    func joined(trigger: String, bounds: [Double]) throws {
        #expect(try TriggerExpression(parsing: trigger, fields: Self.fields).thresholds.map(\.bound) == bounds)
    }

    @Test("finds a random trigger wherever that holds")
    func necessary() throws {
        var random = RandomTrigger(random: SeededGenerator(seed: 200))
        var held = 0
        for _ in 0..<20_000 {
            let (text, outcome) = random.condition(depth: 3)
            guard outcome == true, text.utf8.count <= TriggerLimits.textBytesMax else { continue }
            let thresholds = try TriggerExpression(parsing: text, fields: RandomTrigger.fields).thresholds
            guard !thresholds.isEmpty else { continue }
            held += 1
            let isAnyMet = thresholds.contains { threshold in
                let number = RandomTrigger.value(threshold.field).flatMap(threshold.conversion.number)
                return number.map(threshold.includes) ?? false
            }
            #expect(isAnyMet, "\(text)")
        }
        #expect(held > 300)
    }

    /// Numbers at which doubles are easily mistaken, as texts of fields and of literals.
    private static let texts = [
        "0", "0.0", "-0.0", "1", "-1", "1.0", "100.0", "99.99999999999999999", "99.99999999999999", "100", "2.5", "0.1",
        "0.1000000000000000055", "4.9e-324", "-4.9e-324", "2.2250738585072014e-308", "1.7976931348623157e308",
        "-1.7976931348623157e308", "9007199254740992.0", "9007199254740993.0", "2147483647", "-2147483648",
        "2147483647.5", "3e9",
    ]

    /// Texts of fields that are no numbers, or none for one of the conversions.
    private static let otherTexts = ["", "n/a", "NaN", "Infinity", "1e999", "0x1", " 1", "2147483648", "1_000"]

    private struct Draw {
        var random: SeededGenerator

        mutating func pick<Value>(_ values: [Value]) -> Value {
            values[Int.random(in: 0..<values.count, using: &random)]
        }

        /// A number of any size, or one of those above.
        mutating func number() -> String {
            guard Bool.random(using: &random) else { return pick(ThresholdTests.texts) }
            let double = Double(bitPattern: random.next())
            return double.isFinite ? "\(double)" : "1"
        }

        mutating func text() -> String {
            Int.random(in: 0..<5, using: &random) == 0 ? pick(ThresholdTests.otherTexts) : number()
        }
    }

    /// Java's number by Swift's own conversions.
    private static func number(_ text: String, _ conversion: NumberConversion) -> Double? {
        if conversion == .integer { return Int32(text).map { Double($0) } }
        if !otherTexts.contains(text) { return Double(text) }
        switch text {
        case " 1": return 1
        case "2147483648": return 2_147_483_648
        default: return nil
        }
    }

    private static func compares(_ number: Double, _ symbol: String, _ bound: Double) -> Bool {
        switch symbol {
        case "==": return number == bound
        case "!=": return number != bound
        case "<": return number < bound
        case "<=": return number <= bound
        case ">": return number > bound
        default: return number >= bound
        }
    }

    @Test("includes a number exactly if the trigger holds for it, for random numbers and bounds")
    func equalsEvaluation() throws {
        var draw = Draw(random: SeededGenerator(seed: 100))
        let opposites = [("==", "!="), ("!=", "=="), ("<", ">="), ("<=", ">"), (">", "<="), (">=", "<")]
        let mirrored = [("==", "=="), ("!=", "!="), ("<", ">"), ("<=", ">="), (">", "<"), (">=", "<=")]
        var held = 0
        for _ in 0..<20_000 {
            let conversion = draw.pick(NumberConversion.allCases)
            let (text, bound, place) = (draw.text(), draw.number(), Int.random(in: 0..<6, using: &draw.random))
            let (symbol, number) = (opposites[place].0, "\(conversion.rawValue)(${last_price})")
            let trigger = draw.pick([
                "\(number) \(symbol) \(bound)", "\(bound) \(mirrored[place].1) \(number)",
                "!(\(number) \(opposites[place].1) \(bound))",
            ])
            let expression = try TriggerExpression(parsing: trigger, fields: Self.fields)
            let threshold = try #require(expression.threshold)
            let included = conversion.number(text).map(threshold.includes) ?? false
            let limit = try #require(Double(bound))
            let expected = Self.number(text, conversion).map { Self.compares($0, symbol, limit) } ?? false
            #expect(expression.holds { _ in text } == expected, "\(trigger) with \(text)")
            #expect(included == expected, "\(trigger) with \(text)")
            held += expected ? 1 : 0
        }
        #expect(held > 3_000)
    }
}
