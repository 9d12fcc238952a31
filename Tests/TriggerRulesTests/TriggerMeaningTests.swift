import TestSupport
import Testing
import TriggerRules

@Suite("A trigger")
struct TriggerMeaningTests {
    private static let fields = ["last_price", "time", "pct_change", "stock_name"]

    private func holds(_ trigger: String, _ values: [String: String]) throws -> Bool {
        try TriggerExpression(parsing: trigger, fields: Self.fields).holds { values[$0] }
    }

    @Test(
        "compares a price with a threshold as doubles",
        arguments: [
            ("2.84", false), ("100", false), ("100.00000000000000001", false), ("100.00000000000002", true),
            ("101", true), ("1e3", true), ("-101", false), ("", false), ("n/a", false),
        ])
    func threshold(price: String, isMet: Bool) throws {
        let trigger = "Double.parseDouble(${last_price}) > 100.0"
        #expect(try holds(trigger, ["last_price": price]) == isMet)
    }

    @Test("takes a literal as the nearest double")
    func nearestDouble() throws {
        #expect(try holds("100.0 <= 99.99999999999999999", [:]))
        #expect(try holds("0.1 == 0.1000000000000000055511151231257827", [:]))
        #expect(try holds("-0.0 == 0", [:]))
    }

    @Test("compares integers exactly, and an integer with a double as doubles")
    func integers() throws {
        #expect(try holds("9007199254740993L != 9007199254740992L", [:]))
        #expect(try holds("9007199254740993L == 9007199254740992.0", [:]))
        #expect(try holds("Integer.parseInt(${last_price}) == 2.0", ["last_price": "2"]))
    }

    @Test("binds relations tighter than equality, equality tighter than AND, and AND tighter than OR")
    func precedence() throws {
        #expect(try holds("1 < 2 == 3 > 2", [:]))
        #expect(try holds("1 > 2 && 1 > 2 || 1 < 2", [:]))
        #expect(try holds("1 < 2 || 1 < 2 && 1 > 2", [:]))
        #expect(try holds("1 > 2 == 1 < 2 && 1 > 2", [:]) == false)
        #expect(try holds("!(1 > 2) && 1 < 2", [:]))
        #expect(try holds("1 > 2 == 1 > 2 == 1 > 2", [:]) == false)
    }

    @Test("compares texts by their bytes")
    func equalTexts() throws {
        let values = ["stock_name": "Caf\u{e9}"]
        #expect(try holds("${stock_name}.equals(\"Caf\u{e9}\")", values))
        #expect(try holds("\"Caf\u{e9}\".equals($[4])", values))
        #expect(try holds("${stock_name}.equals(\"Cafe\u{301}\")", values) == false)
        #expect(try holds("(${stock_name}).equals(${time})", ["stock_name": "a", "time": "a"]))
    }

    @Test("has Java's escapes in its texts")
    func escapes() throws {
        let written = #"${stock_name}.equals("\b\t\n\f\r\s\"\'\\\0\101\3771\u00e9\uuD83D\uDE00\u0041")"#
        let text = "\u{8}\t\n\u{c}\r \"'\\\0A\u{ff}1\u{e9}\u{1f600}A"
        #expect(try holds(written, ["stock_name": text]))
    }

    /// Parts that fail: a field without a value, and a text that is no number.
    @Test(
        "fails as a whole if it reaches a part that fails, even below NOT",
        arguments: [
            "Double.parseDouble(${time}) > 1", "!(Double.parseDouble(${time}) > 1)",
            "!(Integer.parseInt(${last_price}) > 1)", "!${time}.equals(\"a\")", "!\"a\".equals(${time})",
            "Double.parseDouble(${time}) > 1 || 1 < 2", "(Double.parseDouble(${time}) > 1) != (1 < 2)",
            "1 < 2 && (Double.parseDouble(${time}) > 1 || 1 < 2)",
        ])
    func failing(trigger: String) throws {
        #expect(try holds(trigger, ["last_price": "2.84"]) == false)
    }

    @Test(
        "does not reach the right side where the left one decides",
        arguments: ["1 < 2 || Double.parseDouble(${time}) > 1", "!(1 > 2 && Double.parseDouble(${time}) > 1)"])
    func shortCircuit(trigger: String) throws {
        #expect(try holds(trigger, [:]))
    }

    @Test("holds as Java's rules say, for random triggers")
    func randomTriggers() throws {
        var maker = RandomTrigger(random: SeededGenerator(seed: 3))
        var outcomes = (held: 0, missed: 0, failed: 0)
        for _ in 0..<5_000 {
            let (text, outcome) = maker.condition(depth: 2)
            let trigger = try TriggerExpression(parsing: text, fields: RandomTrigger.fields)
            #expect(trigger.holds(RandomTrigger.value) == (outcome == true), "\(text)")
            switch outcome {
            case true?: outcomes.held += 1
            case false?: outcomes.missed += 1
            case nil: outcomes.failed += 1
            }
        }
        #expect(outcomes.held > 500 && outcomes.missed > 500 && outcomes.failed > 500)
    }
}

@Suite("A number in a field's text")
struct NumberConversionTests {
    @Test(
        "follows from Double.parseDouble as in Java",
        arguments: [
            ("5", 5), ("+5", 5), ("-5", -5), (" \t5\r\n", 5), ("\u{1}5\u{1f}", 5), ("5.", 5), (".5", 0.5),
            ("5e1", 50), ("5E+1", 50), ("5e-1", 0.5), ("5.e1d", 50), ("5d", 5), ("5D", 5), ("0.1f", 0.1), ("5F", 5),
            ("0005", 5), ("1e-999", 0), ("4.9e-324", Double.leastNonzeroMagnitude),
            ("1.7976931348623157e308", Double.greatestFiniteMagnitude),
            ("99.99999999999999999", 100), ("9007199254740993", 9_007_199_254_740_992),
        ] as [(String, Double)])
    func doubles(text: String, number: Double) {
        #expect(NumberConversion.double.number(text) == number)
    }

    @Test(
        "fails in Double.parseDouble",
        arguments: [
            "", " ", ".", "-", "e5", "5e", "5e+", "5dd", "5L", "NaN", "+NaN", "Infinity", "-Infinity", "1e999",
            "-1e999", "1e99999999999999999999", "0x10", "0x1p3", "1_000", "1,5", "--5", "5 5", "\u{a0}5", "\u{ff15}",
            "inf", "nan",
        ])
    func notDoubles(text: String) { #expect(NumberConversion.double.number(text) == nil) }

    @Test(
        "follows from Integer.parseInt with a sign, and in 32 bits",
        arguments: [
            ("5", 5), ("+5", 5), ("-5", -5), ("-0", 0), ("007", 7), ("2147483647", 2_147_483_647),
            ("-2147483648", -2_147_483_648),
        ] as [(String, Double)])
    func integers(text: String, number: Double) {
        #expect(NumberConversion.integer.number(text) == number)
    }

    @Test(
        "fails in Integer.parseInt",
        arguments: [
            "", "+", "-", " 5", "5 ", "5.0", "5e1", "2147483648", "-2147483649", "5L", "0x5", "\u{ff15}", "\u{665}",
        ])
    func notIntegers(text: String) { #expect(NumberConversion.integer.number(text) == nil) }
}
