import Calendar
import Expressions
import TestSupport
import Testing

@Suite("The text of a filter")
struct FilterTextTests {
    /// Filters as people write them, each with its canonical text.
    static let readings: [(String, String)] = [
        ("user == \"ann\"", "user == \"ann\""),
        ("user=='ann'", "user == \"ann\""),
        ("user in ['ann']", "user == \"ann\""),
        ("user not in [ 'ann' , \"bob\" ]", "user not in [\"ann\", \"bob\"]"),
        ("locale starts_with 'de-'", "locale starts_with \"de-\""),
        ("time_zone exists and topic missing", "time_zone exists and topic missing"),
        ("provider == 'fcm' or environment != 'sandbox'", "provider == \"fcm\" or environment != \"sandbox\""),
        ("provider in ['apns', 'fcm']", "provider in [\"apns\", \"fcm\"]"),
        ("app_version >= '4.02.0'", "app_version >= \"4.2\""),
        ("app_version == '4.2.0'", "app_version == \"4.2.0\""),
        ("tags has 'a' and not (tags has 'b')", "tags has \"a\" and not tags has \"b\""),
        ("attributes.plan in ['pro', 2, true]", "attributes.plan in [\"pro\", 2, true]"),
        ("attributes[\"first name\"].x != -0.50", "attributes[\"first name\"].x != -0.5"),
        ("attributes['plan'] has false", "attributes.plan has false"),
        ("attributes.since < '2026-01-01'", "attributes.since < \"2026-01-01\""),
        ("attributes.not exists", "attributes.not exists"),
        ("attributes.n >= 007", "attributes.n >= 7"),
        ("registered_at > now - 30d", "registered_at > now - 30d"),
        ("registered_at > now -0w", "registered_at > now"),
        ("created_at <= now + 90min", "created_at <= now + 90min"),
        ("created_at < \"2026-12-01\"", "created_at < \"2026-12-01T00:00:00.000Z\""),
        ("created_at < '2026-12-01T12:00:00+01:00'", "created_at < \"2026-12-01T11:00:00.000Z\""),
        ("((user exists))", "user exists"),
        ("not not user exists", "not not user exists"),
        ("user exists or locale exists and topic exists", "user exists or locale exists and topic exists"),
        ("(user exists or locale exists) and topic exists", "(user exists or locale exists) and topic exists"),
        ("user exists and (locale exists and topic exists)", "user exists and (locale exists and topic exists)"),
        ("not (user exists and locale exists)", "not (user exists and locale exists)"),
        (" user\n==\t'say \\'hi\\' \\\\ \"' ", "user == \"say 'hi' \\\\ \\\"\""),
    ]

    @Test("parses to the same filter as its canonical form", arguments: 0..<readings.count)
    func canonical(place: Int) throws {
        let (written, canonical) = Self.readings[place]
        let expression = try FilterExpression(parsing: written)
        #expect(expression.text == canonical)
        #expect(try FilterExpression(parsing: canonical) == expression)
    }

    @Test("binds NOT tighter than AND, and AND tighter than OR")
    func precedence() throws {
        func has(_ tag: String) -> FilterExpression { .condition(.tag(tag)) }
        let read = try FilterExpression(parsing: "tags has 'a' or not tags has 'b' and tags has 'c'")
        #expect(read == .any([has("a"), .all([.not(has("b")), has("c")])]))
    }

    @Test("parses back to the filter that was printed, for random filters")
    func roundTrip() throws {
        var maker = RandomFilter(random: SeededGenerator(seed: 5))
        for _ in 0..<3_000 {
            let expression = maker.expression()
            let text = expression.text
            guard text.utf8.count <= FilterLimits.textBytesMax else { continue }
            let again = try FilterExpression(parsing: text)
            #expect(again == expression, "\(text)")
            #expect(again.text.utf8.elementsEqual(text.utf8))
        }
    }

    @Test("hides the names of users and installations when it is shown")
    func withoutNames() throws {
        let written = "user == 'ann' and (installation in ['p1', 'p2'] or user starts_with 'b' or tags has 'x')"
        let shown = try FilterExpression(parsing: written).textWithoutNames
        let hidden = #"user == "…" and (installation in ["…", "…"] or user starts_with "…" or tags has "x")"#
        #expect(shown == hidden)
    }
}

@Suite("A text that is not a valid filter")
struct FilterFaultTests {
    typealias Reason = FilterFault.Reason

    private static let texts: [FilterOperator] = [
        .equal, .notEqual, .among, .notAmong, .startsWith, .exists, .missing,
    ]
    private static let orders: [FilterOperator] = [.less, .atMost, .more, .atLeast]

    static let refusals: [(String, Int, Reason)] = [
        ("", 1, .unexpected(.end, expected: [.field])),
        ("  ", 3, .unexpected(.end, expected: [.field])),
        ("user", 5, .unexpected(.end, expected: [.test])),
        ("user = 'a'", 6, .unexpected(.symbol("="), expected: [.test])),
        ("user == ann", 9, .unexpected(.identifier("ann"), expected: [.text])),
        ("user == 5", 9, .unexpected(.number, expected: [.text])),
        ("user == 'a' && locale exists", 13, .unexpected(.symbol("&&"), expected: [.and, .or, .end])),
        ("user == 'a' AND locale exists", 13, .unexpected(.identifier("AND"), expected: [.and, .or, .end])),
        ("user exists and", 16, .unexpected(.end, expected: [.field])),
        ("not", 4, .unexpected(.end, expected: [.field])),
        ("(user exists", 13, .unexpected(.end, expected: [.and, .or, .closingParenthesis])),
        ("user exists)", 12, .unexpected(.symbol(")"), expected: [.and, .or, .end])),
        ("user in 'a'", 9, .unexpected(.text, expected: [.openingBracket])),
        ("user in []", 10, .unexpected(.symbol("]"), expected: [.text])),
        ("user in ['a' 'b']", 14, .unexpected(.text, expected: [.comma, .closingBracket])),
        ("user not ['a']", 10, .unexpected(.symbol("["), expected: [.in])),
        ("ä == 'x'", 1, .unexpected(.character, expected: [.field])),
        ("user == “x”", 9, .unexpected(.character, expected: [.text])),
        ("locale == 'ä' and 7", 19, .unexpected(.number, expected: [.field])),
        ("country == 'DE'", 1, .unknownField("country")),
        ("last_seen > now", 1, .unknownField("last_seen")),
        ("user < 'a'", 6, .notForField(.less, field: "user", allowed: texts)),
        ("tags == 'a'", 6, .notForField(.equal, field: "tags", allowed: [.has])),
        ("user has 'a'", 6, .notForField(.has, field: "user", allowed: texts)),
        ("created_at == now", 12, .notForField(.equal, field: "created_at", allowed: orders)),
        ("registered_at > 5", 17, .unexpected(.number, expected: [.instant])),
        ("registered_at > 'noon'", 17, .notAnInstant),
        ("registered_at > '2026-02-30'", 17, .notAnInstant),
        ("registered_at > now - 30", 23, .unexpected(.number, expected: [.quantity])),
        ("registered_at > now - 30m", 23, .unexpected(.quantity, expected: [.quantity])),
        ("registered_at > now - 36601d", 23, .tooFarFromNow),
        ("registered_at > now - 99999999999999999999d", 23, .tooFarFromNow),
        ("app_version >= 4.2", 16, .unexpected(.number, expected: [.version])),
        ("app_version >= '4.2-beta'", 16, .notAVersion),
        ("app_version >= ''", 16, .notAVersion),
        ("app_version >= '4.'", 16, .notAVersion),
        ("provider == 'gcm'", 13, .unknownName(field: "provider", names: ["apns", "fcm", "hms", "webpush"])),
        ("environment == 'test'", 16, .unknownName(field: "environment", names: ["production", "sandbox"])),
        ("attributes == 'x'", 12, .unexpected(.symbol("=="), expected: [.attributeName])),
        ("attributes. == 'x'", 13, .unexpected(.symbol("=="), expected: [.attributeName])),
        ("attributes[0] == 'x'", 12, .unexpected(.number, expected: [.attributeName])),
        ("attributes.x == null", 17, .unexpected(.identifier("null"), expected: [.value])),
        ("attributes.x == -'a'", 18, .unexpected(.text, expected: [.value])),
        ("attributes.x < true", 16, .unexpected(.identifier("true"), expected: [.numberOrText])),
        ("attributes.x == 1e5", 17, .unexpected(.quantity, expected: [.value])),
        ("attributes.a.b.c.d.e.f.g.h.i exists", 27, .tooManyNames),
        ("user == 'a", 9, .quotedText(.notClosed)),
        ("user == 'a\\", 9, .quotedText(.notClosed)),
        ("user == 'a\\n'", 11, .quotedText(.unknownEscape)),
        ("user == 'a\u{7}'", 11, .quotedText(.controlCharacter)),
        (String(repeating: "(", count: 17) + "user exists", 17, .tooDeep),
        (String(repeating: "not ", count: 17) + "user exists", 65, .tooDeep),
        (Array(repeating: "user exists", count: 65).joined(separator: " or "), 961, .tooManyConditions),
        ("user in [" + String(repeating: "'a',", count: 256) + "'a']", 1_034, .tooManyValues),
        (String(repeating: " ", count: 4_097), 1, .tooLong(bytes: 4_097)),
    ]

    @Test("fails with the position and what was expected there", arguments: 0..<refusals.count)
    func refused(place: Int) {
        let (text, position, reason) = Self.refusals[place]
        let fault = #expect(throws: FilterFault.self) { try FilterExpression(parsing: text) }
        #expect(fault == FilterFault(position: position, reason: reason), "\(text)")
    }

    @Test("must exceed a limit: a text exactly at each limit still parses")
    func atTheBounds() throws {
        _ = try FilterExpression(
            parsing: String(repeating: "(", count: 16) + "user exists" + String(repeating: ")", count: 16))
        _ = try FilterExpression(parsing: Array(repeating: "user exists", count: 64).joined(separator: " or "))
        _ = try FilterExpression(parsing: Array(repeating: "not (user exists)", count: 20).joined(separator: " or "))
        _ = try FilterExpression(parsing: "user in [" + String(repeating: "'a',", count: 255) + "'a']")
        _ = try FilterExpression(parsing: "attributes.a.b.c.d.e.f.g.h exists")
        _ = try FilterExpression(parsing: "created_at > now - 36600d")
        _ = try FilterExpression(parsing: "user exists" + String(repeating: " ", count: 4_085))
    }

    @Test("never crashes the parser, and yields an error position within the text")
    func noise() throws {
        var maker = RandomFilter(random: SeededGenerator(seed: 77))
        let pieces = [
            "(", ")", "[", "]", "not ", "and ", "'", "\"", "\\", "\0", "ä", "now", "-", "+", "30d", "9", ".",
            "attributes",
            "== ", "in ", "\u{301}", "99999999999999999999999999", " ",
        ]
        var understood = 0
        for _ in 0..<20_000 {
            var scalars = Array(maker.expression(depth: 2).text.unicodeScalars)
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
            do throws(FilterFault) {
                let expression = try FilterExpression(parsing: text)
                understood += 1
                #expect(try FilterExpression(parsing: expression.text) == expression, "\(text)")
            } catch {
                #expect((1...scalars.count + 1).contains(error.position), "\(text)")
            }
        }
        #expect(understood > 1_000)
    }

    @Test("fails without a crash if it consists of random bytes")
    func bytes() {
        var random = SeededGenerator(seed: 3)
        for _ in 0..<5_000 {
            let count = Int.random(in: 0...60, using: &random)
            let bytes = (0..<count).map { _ in UInt8.random(in: .min ... .max, using: &random) }
            _ = try? FilterExpression(parsing: String(decoding: bytes, as: UTF8.self))
        }
    }
}
