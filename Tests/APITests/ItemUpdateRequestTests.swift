import JSON
import Requests
import Testing
import TriggerRules

@Suite("A request to update an item")
struct ItemUpdateRequestTests {
    private static func read(_ text: String, item: String = "item1") throws(Problem) -> ItemUpdate {
        try ItemUpdateRequest.read(Array(text.utf8), item: item)
    }

    private static func line(_ text: String) throws(Problem) -> ItemUpdateRequest.Line {
        try ItemUpdateRequest.readLine(Array(text.utf8))
    }

    @Test("takes strings, numbers and booleans as their text, and null as removal")
    func fields() throws {
        let update = try Self.read(#"{"last_price": 2.90, "stock_name": "Anduct", "halted": false, "note": null}"#)
        #expect(update.item == "item1")
        #expect(update.fields.changes.map(\.name) == ["halted", "last_price", "note", "stock_name"])
        #expect(update.fields.changes.map(\.text) == ["false", "2.90", nil, "Anduct"])
    }

    @Test("may name no field, and any item that a path can hold")
    func least() throws {
        #expect(try Self.read("{}", item: "é 1").fields.changes.isEmpty)
    }

    private static let long = String(repeating: "n", count: ItemName.bytesMax + 1)
    private static let many = (0...256).map { #""f\#($0)":0"# }.joined(separator: ",")
    private static let large = String(repeating: "x", count: UpdateFields.bytesMax)

    @Test(
        "fails with a problem code and a pointer to the wrong field",
        arguments: [
            Refusal("", .malformedJSON), Refusal("{", .malformedJSON), Refusal("[]", .wrongType, ""),
            Refusal(#"{"a": 1, "a": 2}"#, .duplicateMember), Refusal(#"{"a": "\u0000"}"#, .nulCharacter),
            Refusal(#"{"": 1}"#, .invalidValue, "/"), Refusal(#"{"a/b": 1}"#, .invalidValue, "/a~1b"),
            Refusal(#"{"a[1]": 1}"#, .invalidValue, "/a[1]"), Refusal(#"{"a\n": 1}"#, .invalidValue, "/a\n"),
            Refusal(#"{"\#(long)": 1}"#, .valueTooLong, ""), Refusal(#"{"a": [1]}"#, .wrongType, "/a"),
            Refusal(#"{"a": {"b": 1}}"#, .wrongType, "/a"), Refusal("{\(many)}", .tooMany, ""),
            Refusal(#"{"a": "\#(large)"}"#, .tooMany, ""),
        ])
    func badFields(refusal: Refusal) {
        refusal.check { (bytes) throws(Problem) in try ItemUpdateRequest.read(bytes, item: "item1") }
    }

    @Test("fails on a name in the path that no item can have", arguments: ["a/b", "a{b", "a]", "a\u{7f}", long])
    func badItem(name: String) {
        let problem = refusal { () throws(Problem) in try Self.read("{}", item: name) }
        let code: ProblemCode = name == Self.long ? .valueTooLong : .invalidValue
        #expect(problem?.code == code && problem?.pointer == nil)
    }

    @Test("reads a line of a stream with its number and its item")
    func wholeLine() throws {
        let line = try Self.line(#"{"line": 9223372036854775807, "item": "item1", "fields": {"last_price": "2.84"}}"#)
        let update = try Self.read(#"{"last_price": "2.84"}"#)
        #expect(line.number == .max && line.update == .success(update))
    }

    @Test(
        "keeps the number of a refused line",
        arguments: [
            Refusal(#"{"line": 7}"#, .missingMember, "/item"), Refusal(#"{"line": 7, "item": 1}"#, .wrongType, "/item"),
            Refusal(#"{"line": 7, "item": "a/b", "fields": {}}"#, .invalidValue, "/item"),
            Refusal(#"{"line": 7, "item": "a"}"#, .missingMember, "/fields"),
            Refusal(#"{"line": 7, "item": "a", "fields": []}"#, .wrongType, "/fields"),
            Refusal(#"{"line": 7, "item": "a", "fields": {"b": []}}"#, .wrongType, "/fields/b"),
            Refusal(#"{"line": 7, "item": "a", "fields": {}, "more": 1}"#, .unknownMember, "/more"),
        ])
    func refusedLine(refusal: Refusal) throws {
        let line = try Self.line(refusal.input)
        #expect(line.number == 7)
        refusal.check { (_) throws(Problem) in try line.update.get() }
    }

    @Test(
        "fails as a line if its number can't be read",
        arguments: [
            Refusal("{}", .missingMember, "/line"), Refusal(#"{"line": "7"}"#, .wrongType, "/line"),
            Refusal(#"{"line": 0}"#, .invalidValue, "/line"), Refusal(#"{"line": -1}"#, .invalidValue, "/line"),
            Refusal(#"{"line": 1.5}"#, .invalidValue, "/line"),
            Refusal(#"{"line": 9223372036854775808}"#, .invalidValue, "/line"), Refusal("7", .wrongType, ""),
            Refusal(#"{"line": 7"#, .malformedJSON),
        ])
    func numberless(refusal: Refusal) {
        refusal.check { (bytes) throws(Problem) in try ItemUpdateRequest.readLine(bytes) }
    }
}
