import JSON
import TestSupport
import Testing
import TriggerRules

private func update(_ json: String) throws -> UpdateFields {
    let value = try JSONReader.read(Array(json.utf8))
    return try UpdateFields(try #require(value.object))
}

/// An item after updates, each of them a JSON object.
private func item(after updates: String...) throws -> ItemState {
    try updates.reduce(ItemState.empty) { try $0.updated(with: update($1)) }
}

private func field(_ name: String, _ text: String?, _ seq: Int64) -> ItemState.Field {
    ItemState.Field(name: name, text: text, seq: seq)
}

@Suite("An item that takes updates")
struct ItemStateTests {
    @Test("keeps for each field its text, and the number of the update that last named it")
    func numbers() throws {
        let state = try item(after: #"{"last_price": 2.84, "time": "12:00"}"#, #"{"last_price": 2.84}"#, #"{"bid": 1}"#)
        #expect(
            state
                == ItemState(
                    seq: 3, fields: [field("time", "12:00", 1), field("last_price", "2.84", 2), field("bid", "1", 3)]))
        #expect(state.lastSeq(naming: ["time", "last_price"]) == 2)
        #expect(state.lastSeq(naming: ["bid", "time"]) == 3)
        #expect(state.lastSeq(naming: ["ask", "Time"]) == 0)
    }

    @Test("counts an update that names no field")
    func emptyUpdate() throws {
        let state = try item(after: #"{"a": 1}"#, "{}")
        #expect(state == ItemState(seq: 2, fields: [field("a", "1", 1)]))
    }

    @Test("remembers a field that an update removed, even one that it never had")
    func removal() throws {
        let state = try item(after: #"{"a": 1, "b": 2}"#, #"{"a": null, "c": null}"#)
        #expect(state == ItemState(seq: 2, fields: [field("a", nil, 2), field("b", "2", 1), field("c", nil, 2)]))
        #expect(state.texts(of: ["c", "b", "a"], .merge) == [nil, "2", nil])
        #expect(state.lastSeq(naming: ["a"]) == 2)
    }

    @Test("shows the last text of each field in mode MERGE, and one update alone in mode DISTINCT")
    func modes() throws {
        let state = try item(
            after: #"{"last_price": 2.84, "time": "12:00"}"#, #"{"last_price": 2.90}"#, #"{"volume": 100}"#)
        let fields = ["time", "last_price", "bid"]
        #expect(state.texts(of: fields, .merge) == ["12:00", "2.90", nil])
        #expect(state.texts(of: fields, .distinct) == [nil, "2.90", nil])
        #expect(state.texts(of: ["time"], .distinct) == ["12:00"])
        #expect(state.texts(of: ["bid"], .distinct) == [nil])
    }

    @Test("tells fields apart by the bytes of their names")
    func bytes() throws {
        let state = try item(after: #"{"caf\u00e9": 1, "cafe\u0301": 2}"#)
        #expect(state.texts(of: ["caf\u{e9}", "cafe\u{301}"], .merge) == ["1", "2"])
        #expect(field("caf\u{e9}", "", 1) != field("cafe\u{301}", "", 1))
        #expect(field("a", "\u{e9}", 1) != field("a", "e\u{301}", 1))
    }

    @Test("has the fields of a plain dictionary, for random updates")
    func equalsDictionary() throws {
        var random = SeededGenerator(seed: 8)
        let names = ["a", "b", "B", "é", "e\u{301}", "a b", "ab", "z"]
        var state = ItemState.empty
        var model: [[UInt8]: (text: String?, seq: Int64)] = [:]
        for seq in 1...Int64(2_000) {
            let named = names.filter { _ in Int.random(in: 0..<3, using: &random) == 0 }
            let members = named.map { name in
                let number = Int.random(in: 0..<4, using: &random)
                return JSONMember(name, number == 0 ? .null : .integer(number))
            }
            for member in members { model[Array(member.name.utf8)] = (member.value.integer.map { String($0) }, seq) }
            state = try state.updated(with: try UpdateFields(JSONObject(members)))
            let known = names.map { model[Array($0.utf8)] }
            #expect(state.seq == seq)
            #expect(state.fields.count == model.count)
            #expect(state.texts(of: names, .merge) == known.map { $0?.text })
            #expect(names.map { state.lastSeq(naming: [$0]) } == known.map { $0?.seq ?? 0 })
            let last = state.lastSeq(naming: names)
            #expect(state.texts(of: names, .distinct) == known.map { $0?.seq == last ? $0?.text : nil })
        }
    }
}

@Suite("An item at its limits")
struct ItemLimitTests {
    /// An update that names `count` fields from a number on, and gives them all the same value.
    private func update(_ names: Range<Int>, _ value: JSONValue) throws -> UpdateFields {
        try UpdateFields(JSONObject(names.map { JSONMember("\($0)", value) }))
    }

    @Test("has at most 256 fields with a text")
    func fields() throws {
        let full = try ItemState.empty.updated(with: update(0..<256, ""))
        #expect(throws: UpdateFault.itemHasTooManyFields) { try full.updated(with: update(256..<257, 1)) }
        let emptier = try full.updated(with: update(0..<1, .null))
        #expect(try emptier.updated(with: update(256..<257, 1)).lastSeq(naming: ["256"]) == 3)
    }

    @Test("has at most 64 KiB of names and texts")
    func bytes() throws {
        let text = String(repeating: "x", count: 65_534)
        let large = ItemState(seq: 1, fields: [field("a", text, 1)])
        #expect(try large.updated(with: update(1..<2, .null)).texts(of: ["a"], .merge) == [text])
        #expect(try large.updated(with: update(1..<2, "")).seq == 2)
        #expect(throws: UpdateFault.itemTooLarge(bytes: 65_537)) { try large.updated(with: update(1..<2, "1")) }
    }

    @Test("remembers all fields that one update removed, and forgets those removed before")
    func removedFields() throws {
        let first = try ItemState.empty.updated(with: update(0..<200, .null))
        let second = try first.updated(with: update(200..<256, .null))
        #expect(second.fields.count == 256)
        let third = try second.updated(with: update(256..<257, .null))
        #expect(third.fields.count == 57)
        #expect(third.lastSeq(naming: ["0", "199"]) == 0)
        #expect(third.lastSeq(naming: ["200"]) == 2)
        #expect(third.lastSeq(naming: ["256"]) == 3)
        let all = try third.updated(with: update(1_000..<1_256, .null))
        #expect(all.fields.count == 256)
        #expect(all.fields.allSatisfy { $0.seq == 4 })
    }

    @Test("forgets removed fields whose names are too long together")
    func removedNames() throws {
        let name = { (number: Int) in String(repeating: "x", count: 764) + "\(1_000 + number)" }
        let removed = { (numbers: Range<Int>) in
            try UpdateFields(JSONObject(numbers.map { JSONMember(name($0), .null) }))
        }
        let first = try ItemState.empty.updated(with: removed(0..<20))
        let second = try first.updated(with: removed(20..<21))
        #expect(second.fields.count == 21)
        let third = try second.updated(with: removed(21..<22))
        #expect(third.fields.map(\.seq) == [2, 3])
    }
}
