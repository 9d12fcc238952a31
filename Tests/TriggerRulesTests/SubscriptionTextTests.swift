import TestSupport
import Testing
import TriggerRules

@Suite("A subscription's text")
struct SubscriptionTextTests {
    private static let fields = ["stock_name", "last_price", "pct change", "a[0]"]

    private func filled(_ text: String, _ values: [String: String]) throws -> String {
        try SubscriptionText(parsing: text, fields: Self.fields).filled { values[$0] }
    }

    static let values = ["stock_name": "Anduct", "last_price": "2.84", "pct change": "", "a[0]": "${last_price}"]

    @Test(
        "takes the values of the fields that it names, by name or by position",
        arguments: [
            ("Stock ${stock_name} is now ${last_price}", "Stock Anduct is now 2.84"),
            ("Stock $[1] is now $[2]", "Stock Anduct is now 2.84"), ("$[2]$[2]", "2.842.84"), ("", ""),
            ("no field", "no field"), ("[${pct change}]", "[]"), ("$[01]", "Anduct"),
            // A value is never read as a template.
            ("${a[0]}", "${last_price}"),
            // Dollar signs and braces that name nothing.
            ("US$ 5, $$, $x, 5$", "US$ 5, $$, $x, 5$"), ("$${last_price}", "$2.84"), ("{ } [1] }}", "{ } [1] }}"),
            ("{\"price\":{\"last\":$[2]}}", "{\"price\":{\"last\":2.84}}"), ("ä${stock_name}\u{301}", "äAnduct\u{301}"),
        ])
    func fills(text: String, result: String) throws {
        #expect(try filled(text, Self.values).utf8.elementsEqual(result.utf8))
    }

    @Test("has nothing in the place of a field without a value")
    func missing() throws {
        #expect(
            try filled("Stock ${stock_name} is now ${last_price}.", ["stock_name": "Anduct"]) == "Stock Anduct is now ."
        )
    }

    @Test("counts a field as often as it names it")
    func fieldCount() throws {
        #expect(try SubscriptionText(parsing: "US$ 5", fields: Self.fields).fieldCount == 0)
        #expect(try SubscriptionText(parsing: "$[1] ${stock_name}$[2]", fields: Self.fields).fieldCount == 3)
    }

    static let faults: [(String, SubscriptionTextFault)] = [
        ("Now ${last_price", .invalid(.reference(.notClosed), offset: 4)),
        ("Now ${stock_name is ${last_price}", .invalid(.reference(.notClosed), offset: 4)),
        ("ä ${", .invalid(.reference(.notClosed), offset: 3)),
        ("$[1", .invalid(.reference(.notClosed), offset: 0)),
        ("${}", .invalid(.reference(.empty), offset: 0)),
        ("$[]", .invalid(.reference(.empty), offset: 0)),
        ("US$[last_price]", .invalid(.reference(.notAPosition), offset: 2)),
        ("Hello {{user}}", .invalid(.doubleBrace, offset: 6)),
        ("{{", .invalid(.doubleBrace, offset: 0)),
        ("${{stock_name}}", .invalid(.doubleBrace, offset: 1)),
        ("Now ${bid}", .fieldNotSubscribed("bid", offset: 4)),
        ("${ last_price}", .fieldNotSubscribed(" last_price", offset: 0)),
        ("$[0]", .fieldNotSubscribed("$[0]", offset: 0)),
        ("$[5]", .fieldNotSubscribed("$[5]", offset: 0)),
        (String(repeating: "$[1]", count: 65), .invalid(.tooManyFields, offset: 256)),
    ]

    @Test("reports the place and the reason of an error", arguments: 0..<faults.count)
    func refused(place: Int) {
        let (text, fault) = Self.faults[place]
        #expect(throws: fault, "\(text)") { try SubscriptionText(parsing: text, fields: Self.fields) }
    }

    @Test("has its fault at a character, counted from 1")
    func position() {
        let text = "\u{e9}\u{1f600} {{user}}"
        let fault = #expect(throws: SubscriptionTextFault.self) {
            try SubscriptionText(parsing: text, fields: Self.fields)
        }
        #expect(fault?.offset == 7)
        #expect(fault?.position(in: text) == 4)
    }

    @Test("may name fields as often as the limit says")
    func atTheBound() throws {
        let text = try SubscriptionText(parsing: String(repeating: "$[1]", count: 64), fields: Self.fields)
        #expect(text.parts.count == 64)
    }

    @Test("keeps each byte outside of fields, or has its error within the text, with random pieces")
    func noise() {
        var random = SeededGenerator(seed: 12)
        let pieces = [
            "${stock_name}", "$[2]", "$", "{", "}", "[", "]", "$[", "${", "1", "stock_name", " ", "ä", "\u{0}",
            "{{", "bid",
        ]
        var understood = 0
        for _ in 0..<20_000 {
            let count = Int.random(in: 0...8, using: &random)
            let text = (0..<count).map { _ in pieces[Int.random(in: 0..<pieces.count, using: &random)] }.joined()
            do throws(SubscriptionTextFault) {
                let template = try SubscriptionText(parsing: text, fields: Self.fields)
                let written = template.filled { "${\($0)}" }
                // No character of the pieces combines with the one before it.
                let expected = text.replacing("$[2]", with: "${last_price}").replacing("$[1]", with: "${stock_name}")
                #expect(written.utf8.elementsEqual(expected.utf8), "\(text)")
                if template.fieldCount > 0 { understood += 1 }
            } catch {
                #expect((0..<max(1, text.utf8.count)).contains(error.offset), "\(text)")
            }
        }
        #expect(understood > 500, "too few random texts name fields")
    }
}
