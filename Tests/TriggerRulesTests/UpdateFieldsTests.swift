import JSON
import TestSupport
import Testing
import TriggerRules

private func parsed(_ json: String) throws -> UpdateFields {
    let value = try JSONReader.read(Array(json.utf8))
    return try UpdateFields(try #require(value.object))
}

private func fault(_ object: JSONObject) -> UpdateFault? {
    do throws(UpdateFault) { _ = try UpdateFields(object) } catch { return error }
    return nil
}

@Suite("An update of an item")
struct UpdateFieldsTests {
    @Test("counts strings, numbers and booleans as their text")
    func texts() throws {
        let update = try parsed(
            #"{"s": "a", "n": 2.90, "i": -7, "z": -0, "e": 1E+2, "big": 12345678901234567890, "t": true, "f": false}"#)
        #expect(
            update.changes.map { "\($0.name)=\($0.text ?? "")" } == [
                "big=12345678901234567890", "e=1E+2", "f=false", "i=-7", "n=2.90", "s=a", "t=true", "z=-0",
            ])
    }

    @Test("has no text for a field that it removes")
    func removal() throws {
        let update = try parsed(#"{"b": null, "a": ""}"#)
        #expect(update.changes.map(\.text) == ["", nil])
    }

    @Test("refuses arrays and objects as values of fields")
    func otherValues() {
        #expect(fault(JSONObject([JSONMember("a", [1])])) == .fieldValue("a"))
        #expect(fault(JSONObject([JSONMember("a", ["b": 1])])) == .fieldValue("a"))
    }

    @Test("refuses a field whose name no item may have")
    func names() {
        #expect(fault(JSONObject([JSONMember("a/b", 1)])) == .fieldName("a/b", .hasSlash))
    }

    @Test("refuses a text that the database can't hold")
    func nul() {
        #expect(fault(JSONObject([JSONMember("a", "b\u{0}c")])) == .fieldHasNUL("a"))
    }

    @Test("has 256 fields at most, and 16 KiB of names and texts")
    func limits() {
        let member = { (number: Int) in JSONMember("\(number)", .null) }
        #expect(fault(JSONObject((0..<256).map(member))) == nil)
        #expect(fault(JSONObject((0..<257).map(member))) == .tooManyFields)
        let long = { (bytes: Int) in JSONObject([JSONMember("name", .string(String(repeating: "x", count: bytes)))]) }
        #expect(fault(long(16_380)) == nil)
        #expect(fault(long(16_381)) == .updateTooLarge(bytes: 16_385))
    }
}

@Suite("The name of an item or a field")
struct ItemNameTests {
    private func fault(_ name: String) -> ItemNameFault? {
        do throws(ItemNameFault) { try ItemName.check(name) } catch { return error }
        return nil
    }

    @Test("has 1 to 768 bytes")
    func length() {
        #expect(fault("") == .empty)
        #expect(fault(String(repeating: "é", count: 384)) == nil)
        #expect(fault(String(repeating: "é", count: 384) + "e") == .tooLong)
    }

    @Test("has no slash, bracket, brace or control character")
    func characters() {
        #expect(fault("last price $.5 \"ä\"") == nil)
        #expect(fault("a/b") == .hasSlash)
        for bracket in ["{", "}", "[", "]"] { #expect(fault("a" + bracket) == .hasBracket) }
        for control in ["\u{0}", "\n", "\u{7f}", "\u{85}"] { #expect(fault("a" + control) == .hasControlCharacter) }
    }
}
