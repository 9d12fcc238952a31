import CarillonClient
import Foundation
import Testing

@Suite("JSON text")
struct JSONParserTests {
    private func error(_ text: String) -> JSON.ParsingError? {
        do throws(JSON.ParsingError) {
            _ = try JSON(parsing: text)
            return nil
        } catch { return error }
    }

    @Test("parses to a value whose members keep their order")
    func order() throws {
        let value = try JSON(parsing: #" {"b":1,"a":[true,false,null,"x"],"":{}, "c" : [ ] } "#)
        #expect(value == ["b": 1, "a": [true, false, .null, "x"], "": [:], "c": []])
        #expect(value.object?.names == ["b", "a", "", "c"])
    }

    @Test(
        "fails to parse if it is malformed",
        arguments: [
            "", " ", "nul", "truE", "{", "}", "[", "]", "[1,]", "{,}", #"{"a"}"#, #"{"a":}"#, #"{"a":1,}"#, "{a:1}",
            "'a'", "01", "-", "-a", "1.", ".5", "1e", "1e+", "+1", "0x1", "NaN", "Infinity", "1 2", "[1 2]",
            #"{"a" 1}"#,
            #""abc"#, #""\"#, #""\u12"#, #""\u12G4""#, #""\x""#, "\"a\nb\"", "[1]]", "\u{feff}1", "//", "[1,,2]", "[1}",
            #"{"a":1]"#, #"{1:2}"#, "\u{a0}1", "\"\u{0}\"", "\u{b}1",
        ])
    func malformed(text: String) {
        #expect(error(text) != nil)
    }

    @Test("fails to parse with the reason and the place")
    func reasons() {
        #expect(error("[1") == .init(.endsEarly, at: 2))
        #expect(error("[1,x]") == .init(.unexpectedByte, at: 3))
        #expect(error("true false") == .init(.trailingBytes, at: 5))
        #expect(error("[1.x]") == .init(.badNumber, at: 1))
        #expect(error(#"["\q"]"#) == .init(.badEscape, at: 2))
        #expect(error(#"["a\ud800"]"#) == .init(.loneSurrogate, at: 3))
        #expect(error("\"a\tb\"") == .init(.controlCharacter, at: 2))
        #expect(error(#"{"a":1,"a":2}"#) == .init(.duplicateName, at: 7))
    }

    @Test("must not repeat a member's name, however many members there are or how it is escaped")
    func duplicateNames() {
        #expect(error(#"{"a":1,"b":2,"\u0061":3}"#)?.reason == .duplicateName)
        #expect(error(#"[{"x":{"a":1,"a":2}}]"#)?.reason == .duplicateName)
        #expect(error(#"{"a":1,"b":{"a":1}}"#) == nil)
        let many = (0..<5_000).map { #""n\#($0)":0"# }.joined(separator: ",")
        #expect(error("{\(many)}") == nil)
        #expect(error("{\(many),\"n3\":0}")?.reason == .duplicateName)
    }

    @Test("may have names that differ in bytes but are equal in Unicode")
    func namesAreBytes() throws {
        let value = try JSON(parsing: "{\"\u{e9}\":1,\"e\u{301}\":2}")
        #expect(value.object?.count == 2)
        #expect(value.object?["\u{e9}"] == 1)
        #expect(value.object?["e\u{301}"] == 2)
        // The Kelvin sign, which Swift's own comparison takes for a K.
        #expect(try JSON(parsing: "{\"\u{212a}\":1}").object?["K"] == nil)
    }

    @Test(
        "has each escape replaced by its character",
        arguments: [
            (#""\"\\\/\b\f\n\r\t""#, "\"\\/\u{8}\u{c}\n\r\t"), (#""\u0041\u00e9\u20AC""#, "Aé€"),
            (#""\ud83d\ude00 \uD83D\uDE00""#, "😀 😀"), (#""\u0000""#, "\u{0}"), (#""\uffff""#, "\u{ffff}"),
        ])
    func escapes(text: String, string: String) throws {
        #expect(try JSON(parsing: text).string == string)
    }

    @Test(
        "must not contain half a surrogate pair",
        arguments: [
            #""\ud83d""#, #""\ude00""#, #""\ud83d\ud83d""#, #""\ud83dx""#, #""\ude00\ud83d""#, #""\ud83d\n""#,
            #""\ud83d\u0041""#, #""\ud83d\ue000""#,
        ])
    func loneSurrogates(text: String) {
        #expect(error(text)?.reason == .loneSurrogate)
    }

    @Test(
        "must be UTF-8 if it is given as bytes",
        arguments: [[0xff], [0xc3], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x80]] as [[UInt8]])
    func invalidUTF8(bytes: [UInt8]) throws {
        #expect(throws: JSON.ParsingError(.notUTF8, at: 2)) {
            try JSON(parsing: [0x22, 0x61] + bytes + [0x22])
        }
        #expect(try JSON(parsing: Array("\"é\u{fffd}\"".utf8)) == "é\u{fffd}")
    }

    @Test("must not nest deeper than the limit, however deep it is")
    func depthLimit() {
        func nested(_ depth: Int) -> String {
            String(repeating: "[", count: depth) + String(repeating: "]", count: depth)
        }
        #expect(error(nested(JSON.depthMax)) == nil)
        #expect(error(nested(JSON.depthMax + 1)) == .init(.tooDeep, at: JSON.depthMax))
        #expect(error(String(repeating: "[", count: 1_000_000))?.reason == .tooDeep)
        #expect(error(String(repeating: #"{"a":"#, count: 100_000))?.reason == .tooDeep)
        // A list of empty siblings is not deep.
        #expect(error("[" + String(repeating: "[],", count: JSON.depthMax) + "{}]") == nil)
    }

    @Test("parses, compares, prints and is freed on a thread with 512 KB of stack")
    func smallStack() async {
        let opening = (0..<JSON.depthMax).map { $0.isMultiple(of: 2) ? #"{"a":"# : "[" }.joined()
        let closing = (0..<JSON.depthMax).reversed().map { $0.isMultiple(of: 2) ? "}" : "]" }.joined()
        let text = opening + "1" + closing
        let isSame = await withCheckedContinuation { continuation in
            let thread = Thread {
                let one = try? JSON(parsing: text)
                let other = try? JSON(parsing: text)
                let isSame = one != nil && one == other && one?.serialized == text
                continuation.resume(returning: isSame)
            }
            thread.stackSize = 512 * 1_024
            thread.start()
        }
        #expect(isSame)
    }
}
