import CarillonClient
import Testing

@Suite("A JSON value")
struct JSONValueTests {
    @Test("keeps every number exactly as it was written")
    func numbersAreExact() throws {
        let text = "[0,-0,1,-1,9223372036854775808,1.50,1e5,1E+2,-2.5e-3,123456789012345678901234567890,1e999]"
        #expect(try JSON(parsing: text).serialized == text)
    }

    @Test(
        "gives a number as Int only if nothing is lost",
        arguments: [
            ("0", 0), ("-17", -17), ("9223372036854775807", .max), ("9223372036854775808", nil), ("1.0", nil),
            ("1e3", nil),
        ] as [(String, Int?)])
    func int(text: String, int: Int?) throws {
        #expect(try JSON(parsing: text).int == int)
    }

    @Test(
        "gives a number as the nearest Double within its range",
        arguments: [
            ("0.5", 0.5), ("-1e3", -1_000), ("9007199254740993", 9_007_199_254_740_992), ("1e-999", 0), ("1e999", nil),
            ("-1e999", nil),
        ] as [(String, Double?)])
    func double(text: String, double: Double?) throws {
        #expect(try JSON(parsing: text).double == double)
    }

    @Test("gives its content under its own kind only")
    func kinds() {
        let values: [JSON] = [.null, true, 1, "a", [1], ["a": 1]]
        #expect(values.map(\.isNull) == [true, false, false, false, false, false])
        #expect(values.map(\.bool) == [nil, true, nil, nil, nil, nil])
        #expect(values.map(\.int) == [nil, nil, 1, nil, nil, nil])
        #expect(values.map(\.double) == [nil, nil, 1, nil, nil, nil])
        #expect(values.map(\.string) == [nil, nil, nil, "a", nil, nil])
        #expect(values.map(\.array) == [nil, nil, nil, nil, [1], nil])
        #expect(values.map(\.object) == [nil, nil, nil, nil, nil, ["a": 1]])
    }

    @Test("accepts a number's text only in JSON's grammar")
    func numberGrammar() {
        for text in ["0", "-0", "10", "1.50", "1e5", "1E-05"] { #expect(JSON.Number(text)?.text == text) }
        for text in ["", "-", "01", "+1", ".5", "1.", "1e", " 1", "1 ", "NaN", "0x1", "1٢"] {
            #expect(JSON.Number(text) == nil)
        }
    }

    @Test("prints compactly, with only the escapes that JSON requires")
    func serialized() {
        let value: JSON = [
            "a": [1, true, .null], "\"\\/": "\u{8}\u{c}\n\r\t\u{1}\u{1f}\u{7f}é\u{2028}😀", "": [:], "z": [],
        ]
        let text = #"{"a":[1,true,null],"\"\\/":"\b\f\n\r\t\u0001\u001f"# + "\u{7f}é\u{2028}😀" + #"","":{},"z":[]}"#
        #expect(value.serialized == text)
        #expect("\(value)" == text)
    }

    @Test("equals a value with the same members in another order")
    func orderDoesNotCount() throws {
        #expect(try JSON(parsing: #"{"a":1,"b":2}"#) == JSON(parsing: #"{"b":2,"a":1}"#))
        #expect(try JSON(parsing: #"{"a":1,"b":2}"#) != JSON(parsing: #"{"b":1,"a":2}"#))
        #expect(try JSON(parsing: #"{"a":1}"#) != JSON(parsing: #"{"a":1,"b":2}"#))
    }

    @Test("equals only a value with the same bytes in strings and numbers")
    func equalityIsBytes() {
        #expect(JSON.string("\u{e9}") != JSON.string("e\u{301}"))
        #expect(JSON.object(["\u{e9}": 1]) != JSON.object(["e\u{301}": 1]))
        #expect(JSON.Number("1") != JSON.Number("1.0"))
    }

    @Test("keeps the last value of a name that an app gave twice, at its first place")
    func lastValueStays() {
        let object = JSON.Object([(name: "a", value: 1), (name: "b", value: 2), (name: "a", value: 3)])
        #expect(object.names == ["a", "b"])
        #expect(object["a"] == 3)
    }
}
