import TestSupport
import Testing
import TriggerRules

private let price = "Double.parseDouble(${last_price})"

@Suite("A text that is not a valid trigger")
struct TriggerFaultTests {
    typealias Reason = TriggerFault.Reason

    static let fields = ["last_price", "stock_name"]

    private static let operators: [TriggerExpectation] = [.operator, .end]

    static let refusals: [(String, Int, Reason)] = [
        ("", 0, .unexpected(.end, expected: [.operand])),
        ("  ", 2, .unexpected(.end, expected: [.operand])),
        ("\(price) >", 35, .unexpected(.end, expected: [.operand])),
        ("\(price) > 100.0 100", 42, .unexpected(.number, expected: operators)),
        ("\(price) = 1", 34, .unexpected(.symbol("="), expected: operators)),
        ("\(price) > ä", 36, .unexpected(.character, expected: [.operand])),
        ("\(price) > 1 & 1 < 2", 38, .unexpected(.symbol("&"), expected: operators)),
        ("1 < 2)", 5, .unexpected(.symbol(")"), expected: operators)),
        ("(1 < 2", 6, .unexpected(.end, expected: [.operator, .closingParenthesis])),
        ("1 < 2 &&", 8, .unexpected(.end, expected: [.operand])),
        ("\(price) > --1", 37, .unexpected(.symbol("-"), expected: [.number])),
        ("\(price) > -${last_price}", 37, .unexpected(.field, expected: [.number])),
        ("Double.parseDouble(5) > 1", 19, .unexpected(.number, expected: [.text])),
        ("Double.parseDouble ${last_price}", 19, .unexpected(.field, expected: [.openingParenthesis])),
        ("Double.parseDouble(${last_price} > 1", 33, .unexpected(.symbol(">"), expected: [.closingParenthesis])),
        ("$x > 1", 0, .unexpected(.character, expected: [.operand])),
        ("${stock_name}.equals('a')", 21, .unexpected(.character, expected: [.text])),
        ("${stock_name}.equals(5)", 21, .unexpected(.number, expected: [.text])),
        ("${stock_name}.5", 13, .unexpected(.number, expected: operators)),
        ("${stock_name}.(\"a\")", 14, .unexpected(.symbol("("), expected: [.method])),
        // Names that triggers do not have.
        ("\(price) > NaN", 36, .unknownName("NaN")),
        ("\(price) > Double.POSITIVE_INFINITY", 36, .unknownName("Double.POSITIVE_INFINITY")),
        ("Math.sqrt(${last_price}) > 1", 0, .unknownName("Math.sqrt")),
        ("true", 0, .unknownName("true")),
        ("${last_price}.length() > 1", 14, .unknownName("length")),
        // Types.
        ("${last_price} > 1", 14, .badOperands(.text, .more, .number)),
        ("1 < 2 < 3", 6, .badOperands(.condition, .less, .number)),
        ("(1 < 2) == 1", 8, .badOperands(.condition, .equal, .number)),
        ("1 != \"1\"", 2, .badOperands(.number, .notEqual, .text)),
        ("${last_price} == \"1\"", 14, .textsCompared),
        ("${last_price} != ${stock_name}", 14, .textsCompared),
        ("${last_price}", 0, .noCondition(.text)),
        (price, 0, .noCondition(.number)),
        ("1 < 2 && 5", 9, .noCondition(.number)),
        ("\"a\" || 1 < 2", 0, .noCondition(.text)),
        ("!\(price)", 1, .noCondition(.number)),
        ("(1 < 2).equals(\"a\")", 7, .noMethods(.condition)),
        ("\(price).equals(\"1\")", 33, .noMethods(.number)),
        // References.
        ("${last_price > 1", 0, .reference(.notClosed)),
        ("1 < 2 || ${a{b}.equals(\"\")", 9, .reference(.notClosed)),
        ("$[1", 0, .reference(.notClosed)),
        ("${}", 0, .reference(.empty)),
        ("$[]", 0, .reference(.empty)),
        ("$[-1]", 0, .reference(.notAPosition)),
        // Texts.
        (#"${stock_name}.equals("a"#, 21, .text(.notClosed)),
        (#"${stock_name}.equals("a\"#, 21, .text(.notClosed)),
        (#"${stock_name}.equals("\q")"#, 22, .text(.unknownEscape)),
        (#"${stock_name}.equals("\u12g4")"#, 22, .text(.unknownEscape)),
        (#"${stock_name}.equals("\u0022")"#, 22, .text(.unknownEscape)),
        (#"${stock_name}.equals("\ud83d")"#, 22, .text(.loneSurrogate)),
        (#"${stock_name}.equals("\ude00")"#, 22, .text(.loneSurrogate)),
        (#"${stock_name}.equals("\ud83d\u0041")"#, 22, .text(.loneSurrogate)),
        ("${stock_name}.equals(\"a\n\")", 23, .text(.lineEnd)),
        // Limits.
        (String(repeating: "(", count: 17) + "1 < 2", 16, .tooDeep),
        (String(repeating: "!", count: 16) + "(1 < 2)", 16, .tooDeep),
        ("Double.parseDouble(" + String(repeating: "(", count: 17), 35, .tooDeep),
        (Array(repeating: "1<2", count: 19).joined(separator: "=="), 88, .tooDeep),
        (String(repeating: " ", count: 1_025), 0, .tooLong(bytes: 1_025)),
    ]

    @Test("fails with the place and the reason", arguments: 0..<refusals.count)
    func refused(place: Int) {
        let (text, offset, reason) = Self.refusals[place]
        #expect(throws: TriggerFault.invalid(reason, offset: offset), "\(text)") {
            try TriggerExpression(parsing: text, fields: Self.fields)
        }
    }

    @Test(
        "has a number in another form than Java's decimal integers and doubles",
        arguments: ["0x10", "0b1", "010", "08", "1_000", "100f", "1.5L", "1e", "1e+", "1.2.3", "1dd", "5.equals"])
    func numberForms(number: String) {
        #expect(throws: TriggerFault.invalid(.numberForm, offset: 36)) {
            try TriggerExpression(parsing: "\(price) > \(number)", fields: Self.fields)
        }
    }

    @Test(
        "has a number that Java's type cannot hold",
        arguments: [
            "2147483648", "9223372036854775808L", "1e999", "1e-999", "1e99999999999999999999",
        ])
    func numberRanges(number: String) {
        #expect(throws: TriggerFault.invalid(.numberOutOfRange, offset: 36)) {
            try TriggerExpression(parsing: "\(price) > \(number)", fields: Self.fields)
        }
    }

    @Test(
        "names a field that the subscription does not have",
        arguments: [
            ("bid", "${bid}"), ("last_price ", "${last_price }"), ("$[0]", "$[0]"), ("$[3]", "$[3]"),
            ("$[99999999999999999999]", "$[99999999999999999999]"),
        ])
    func unknownField(name: String, written: String) {
        #expect(throws: TriggerFault.fieldNotSubscribed(name, offset: 19)) {
            try TriggerExpression(parsing: "Double.parseDouble(\(written)) > 1", fields: Self.fields)
        }
    }

    @Test("has its fault at a character, counted from 1")
    func position() {
        let text = "${stock_name}.equals(\"\u{e9}\u{1f600}\") & 1 < 2"
        let fault = #expect(throws: TriggerFault.self) { try TriggerExpression(parsing: text, fields: Self.fields) }
        #expect(fault?.offset == 31)
        #expect(fault?.position(in: text) == 28)
    }

    @Test("must exceed a limit: a text exactly at each limit still parses")
    func atTheBounds() throws {
        let (opening, closing) = (String(repeating: "(", count: 16), String(repeating: ")", count: 16))
        let texts = [
            "\(opening)\(price) > 1\(closing)", String(repeating: "!", count: 16) + "${stock_name}.equals(\"\")",
            "Integer.parseInt(\(opening)$[1]\(closing)) > 1",
            Array(repeating: "(1<2)", count: 100).joined(separator: "||"),
            Array(repeating: "1<2", count: 18).joined(separator: "=="),
            "\(price) > 1" + String(repeating: " ", count: 1_024 - 37),
            "\(price) > -2147483648", "\(price) > -9223372036854775808L", "\(price) > 0e999", "\(price) > 4.9e-324",
        ]
        for text in texts {
            _ = try TriggerExpression(parsing: text, fields: Self.fields)
        }
    }

    @Test("never crashes the parser, and yields a place within the text")
    func noise() {
        var maker = RandomTrigger(random: SeededGenerator(seed: 46))
        let pieces = [
            "(", ")", "$[2]", "$[", "]", "${", "}", ".equals", "\"", "\\", "\\u00e9", "1e999", "-", "<=", "==", "!",
            "&&", " ", "ä", "\0", "\u{301}", ".", "0x1p3", "99999999999999999999",
        ]
        var understood = 0
        for _ in 0..<20_000 {
            var scalars = Array(maker.condition(depth: 1).text.unicodeScalars)
            for _ in 0..<Int.random(in: 0...3, using: &maker.random) {
                let place = Int.random(in: 0...scalars.count, using: &maker.random)
                if Bool.random(using: &maker.random) {
                    scalars.insert(contentsOf: maker.pick(pieces).unicodeScalars, at: place)
                } else {
                    let end = Int.random(in: place...min(scalars.count, place + 4), using: &maker.random)
                    scalars.removeSubrange(place..<end)
                }
            }
            var text = ""
            text.unicodeScalars.append(contentsOf: scalars)
            do throws(TriggerFault) {
                let trigger = try TriggerExpression(parsing: text, fields: RandomTrigger.fields)
                understood += 1
                _ = trigger.holds(RandomTrigger.value)
            } catch {
                #expect((0...text.utf8.count).contains(error.offset), "\(text)")
            }
        }
        #expect(understood > 1_000)
    }

    @Test("fails without a crash if it consists of random bytes")
    func bytes() {
        var random = SeededGenerator(seed: 47)
        for _ in 0..<5_000 {
            let count = Int.random(in: 0...60, using: &random)
            let bytes = (0..<count).map { _ in
                UInt8.random(in: Bool.random(using: &random) ? 0x20...0x7e : 0...255, using: &random)
            }
            _ = try? TriggerExpression(parsing: String(decoding: bytes, as: UTF8.self), fields: Self.fields)
        }
    }
}
