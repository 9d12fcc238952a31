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
        let values = try parsed(
            #"{"s": "a", "n": 2.90, "i": -7, "z": -0, "e": 1E+2, "big": 12345678901234567890, "t": true, "f": false}"#
        ).values
        #expect(
            values
                == ItemFields([
                    .init(name: "s", text: "a"), .init(name: "n", text: "2.90"), .init(name: "i", text: "-7"),
                    .init(name: "z", text: "-0"), .init(name: "e", text: "1E+2"),
                    .init(name: "big", text: "12345678901234567890"), .init(name: "t", text: "true"),
                    .init(name: "f", text: "false"),
                ]))
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

    @Test("names a field if it removes it, or if the text stays the same")
    func namesFields() throws {
        let update = try parsed(#"{"last_price": null, "time": "12:00"}"#)
        #expect(update.names(anyOf: ["bid", "last_price"]))
        #expect(update.names(anyOf: ["time"]))
        #expect(update.names(anyOf: ["bid", "Time"]) == false)
        #expect(try parsed("{}").names(anyOf: ["time"]) == false)
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

@Suite("The fields of an item")
struct ItemFieldsTests {
    @Test("keep the texts that an update does not name, in mode MERGE alone")
    func modes() throws {
        let before = ItemFields([.init(name: "last_price", text: "2.84"), .init(name: "time", text: "12:00")])
        let update = try parsed(#"{"last_price": 2.90, "bid": 2.8}"#)
        let item = try before.merged(with: update)
        let merged = UpdateMode.merge.values(of: update, in: item)
        let alone = UpdateMode.distinct.values(of: update, in: item)
        #expect(merged["last_price"] == "2.90")
        #expect(merged["time"] == "12:00")
        #expect(alone["last_price"] == "2.90")
        #expect(alone["time"] == nil)
    }

    @Test("lose what an update removes")
    func removal() throws {
        let item = try ItemFields([.init(name: "a", text: "1"), .init(name: "b", text: "2")])
            .merged(with: try parsed(#"{"a": null, "c": null}"#))
        #expect(item == ItemFields([.init(name: "b", text: "2")]))
    }

    @Test("differ by the bytes of their names")
    func bytes() throws {
        let item = try ItemFields([]).merged(with: try parsed(#"{"caf\u00e9": 1, "cafe\u0301": 2}"#))
        #expect(item["caf\u{e9}"] == "1")
        #expect(item["cafe\u{301}"] == "2")
    }

    @Test("equal those of a plain dictionary, for random updates")
    func equalsDictionary() throws {
        var random = SeededGenerator(seed: 8)
        let names = ["a", "b", "B", "é", "e\u{301}", "a b", "ab", "z"]
        var item = ItemFields([])
        var model: [[UInt8]: String] = [:]
        for _ in 0..<2_000 {
            let named = names.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
            let members = named.map { name in
                let number = Int.random(in: 0..<4, using: &random)
                return JSONMember(name, number == 0 ? .null : .integer(number))
            }
            for member in members { model[Array(member.name.utf8)] = member.value.integer.map { String($0) } }
            item = try item.merged(with: try UpdateFields(JSONObject(members)))
            #expect(item.values.count == model.count)
            for name in names { #expect(item[name] == model[Array(name.utf8)]) }
        }
    }

    @Test("stay as they are if an update would exceed the limits of an item")
    func limits() throws {
        let full = ItemFields((0..<256).map { .init(name: "\($0)", text: "") })
        #expect(try full.merged(with: parsed(#"{"0": null, "x": 1}"#)).values.count == 256)
        #expect(throws: UpdateFault.itemHasTooManyFields) { try full.merged(with: parsed(#"{"x": 1}"#)) }
        let large = ItemFields([.init(name: "a", text: String(repeating: "x", count: 65_534))])
        #expect(try large.merged(with: parsed(#"{"b": null}"#)) == large)
        #expect(throws: UpdateFault.itemTooLarge(bytes: 65_537)) { try large.merged(with: parsed(#"{"b": 1}"#)) }
    }
}
