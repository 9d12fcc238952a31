import JSON
import Testing

private func read(_ text: String, limits: JSONLimits = .standard) -> Result<JSONValue, JSONError> {
    read(Array(text.utf8), limits: limits)
}

private func read(_ bytes: [UInt8], limits: JSONLimits = .standard) -> Result<JSONValue, JSONError> {
    do throws(JSONError) { return .success(try JSONReader.read(bytes, limits: limits)) } catch {
        return .failure(error)
    }
}

private func error(_ text: String, limits: JSONLimits = .standard) -> JSONError? {
    if case .failure(let error) = read(text, limits: limits) { error } else { nil }
}

@Suite("JSON from a client")
struct JSONReaderTests {
    @Test("keeps the order of its members")
    func keepsOrder() throws {
        let value = try read(#" {"b":1,"a":[true,false,null,"x"],"":{}} "#).get()
        #expect(value == ["b": 1, "a": [true, false, .null, "x"], "": [:]])
        #expect(value.object?.members.map(\.name) == ["b", "a", ""])
    }

    @Test("keeps every number exactly")
    func numbersKeepTheirText() throws {
        let text =
            "[0,-0,1,-1,9223372036854775807,9223372036854775808,1.50,1e5,1E+2,-2.5e-3,123456789012345678901234567890]"
        #expect(String(decoding: try read(text).get().bytes, as: UTF8.self) == text)
        #expect(try read("9223372036854775807").get().integer == .max)
        #expect(try read("-9223372036854775808").get().integer == .min)
        #expect(try read("9223372036854775808").get().integer == nil)
        #expect(try read("1.5").get().number?.double == 1.5)
    }

    @Test(
        "fails to parse if it is malformed",
        arguments: [
            "", " ", "nul", "truE", "{", "}", "[", "]", "[1,]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "{a:1}",
            "'a'", "01", "-", "-a", "1.", ".5", "1e", "1e+", "+1", "0x1", "NaN", "Infinity", "1 2", "[1 2]",
            #""abc"#, #""\"#, #""\u12"#, #""\u12G4""#, #""\x""#, "\"a\nb\"", "[1]]", "\u{feff}1", "//", "[1,,2]",
        ])
    func refusesWhatIsNotJSON(text: String) {
        #expect(error(text) != nil)
    }

    @Test("fails to parse with the position and the reason")
    func errorsSayWhere() {
        #expect(error(#"{"a":1,"a":2}"#) == JSONError(.duplicateName, at: 7))
        #expect(error("[1,x]") == JSONError(.unexpectedByte(UInt8(ascii: "x")), at: 3))
        #expect(error("true false") == JSONError(.trailingBytes, at: 5))
        #expect(error("[1") == JSONError(.endsEarly, at: 2))
        #expect(error(#"["\q"]"#) == JSONError(.badEscape, at: 2))
        #expect(error("1.x") == JSONError(.badNumber, at: 0))
    }

    @Test("must not repeat a member's name, however many members there are or how it is escaped")
    func refusesDuplicateNames() {
        #expect(error(#"{"a":1,"\u0061":2}"#)?.kind == .duplicateName)
        let many = (0..<40).map { #""n\#($0)":0"# }.joined(separator: ",")
        #expect(error("{\(many)}") == nil)
        #expect(error("{\(many),\"n3\":0}")?.kind == .duplicateName)
        #expect(error("{\(many),\"n39\":0}")?.kind == .duplicateName)
    }

    @Test("may contain names that differ in bytes but are equal in Unicode")
    func namesAreBytes() throws {
        let value = try read("{\"\u{e9}\":1,\"e\u{301}\":2}").get()
        #expect(value.object?["\u{e9}"] == 1)
        #expect(value.object?["e\u{301}"] == 2)
        // The Kelvin sign, which Swift's own comparison takes for a K.
        #expect(try read("{\"\u{212a}ind\":1}").get().object?["Kind"] == nil)
    }

    @Test("may contain surrogate pairs, but no lone surrogate")
    func surrogates() throws {
        #expect(try read(#""\ud83d\ude00""#).get() == "😀")
        #expect(try read(#""\uD83D\uDE00""#).get() == "😀")
        for text in [#""\ud83d""#, #""\ude00""#, #""\ud83d\ud83d""#, #""\ud83dx""#, #""\ude00\ud83d""#, #""\ud83d\n""#]
        {
            #expect(error(text)?.kind == .loneSurrogate, "\(text)")
        }
    }

    @Test("fails to parse if a string is not UTF-8")
    func refusesInvalidUTF8() {
        for bytes in [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80]] as [[UInt8]] {
            let result = read([0x22] + bytes + [0x22])
            #expect(result == .failure(JSONError(.notUTF8, at: 0)))
        }
    }

    @Test(
        "fails to parse if invalid UTF-8 stands anywhere in it",
        arguments: [
            [0xff, 0xfe, 0x7b, 0x00], [0x7b, 0xe9, 0x7d], [0x7b, 0x7d, 0x80], [0x7b, 0x22, 0xff],
        ] as [[UInt8]])
    func refusesInvalidUTF8Anywhere(bytes: [UInt8]) {
        guard case .failure(let error) = read(bytes) else { return #expect(Bool(false)) }
        #expect(error.kind == .notUTF8)
    }

    @Test("must not contain NUL, unless the gateway wrote it itself")
    func refusesNUL() throws {
        #expect(error(#"["a\u0000"]"#)?.kind == .nulInString)
        #expect(error(#"{"\u0000":1}"#)?.kind == .nulInString)
        #expect(error("\"\u{0}\"")?.kind == .nulInString)
        #expect(try read(#""\u0000""#, limits: .trusted).get() == "\u{0}")
    }

    @Test("must stay within limits on bytes, depth, values and digits")
    func limits() {
        let limits = JSONLimits(bytesMax: 100, depthMax: 3, valuesMax: 5, numberBytesMax: 4)
        #expect(error("[[[1]]]", limits: limits) == nil)
        #expect(error("[[[[1]]]]", limits: limits)?.kind == .tooDeep(depthMax: 3))
        #expect(error("[1,2,3,4]", limits: limits) == nil)
        #expect(error("[1,2,3,4,5]", limits: limits)?.kind == .tooManyValues(valuesMax: 5))
        #expect(error("12345", limits: limits)?.kind == .numberTooLong(bytesMax: 4))
        #expect(error(String(repeating: " ", count: 101), limits: limits)?.kind == .tooLarge(bytesMax: 100))
        // A wide document of siblings is not deep.
        #expect(error("[[],[],[]]", limits: limits) == nil)
    }

    @Test("never overflows the reader's stack, however deep it is nested")
    func deepNesting() {
        let deep = String(repeating: "[", count: 1_000_000)
        #expect(error(deep)?.kind == .tooDeep(depthMax: 32))
        #expect(error(String(repeating: #"{"a":"#, count: 100_000))?.kind == .tooDeep(depthMax: 32))
    }

    @Test(
        "fails to parse with an error that names the byte and what stands there",
        arguments: [
            ("{\"a\": 1,}", "Invalid JSON at byte 8: unexpected }."),
            ("{'a': 1}", "Invalid JSON at byte 1: unexpected '."),
            ("[1 2]", "Invalid JSON at byte 3: unexpected digit."),
            ("nil", "Invalid JSON at byte 1: unexpected letter."),
            ("{\u{201c}a\u{201d}: 1}", "Invalid JSON at byte 1: unexpected character that is not ASCII."),
            ("[1", "Invalid JSON at byte 2: the text ends early."),
            ("[1] x", "Invalid JSON at byte 4: unexpected text after the value."),
            ("[-x]", "Invalid JSON at byte 1: a number in a form that JSON does not have."),
            ("[\"\\x\"]", "Invalid JSON at byte 2: unknown escape in a string."),
        ])
    func sentences(text: String, sentence: String) {
        #expect(error(text)?.sentence == sentence)
    }

    @Test("never appears in the error message that explains its fault")
    func sentencesHoldNoContent() {
        #expect(error(#"{"token":"0123abcd" x}"#)?.sentence.contains("0123abcd") == false)
    }
}
