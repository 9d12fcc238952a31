import JSON
import TestSupport
import Testing
import TriggerRules

private func update(_ item: String, _ members: (String, JSONValue)...) throws -> ItemUpdate {
    ItemUpdate(item: item, fields: try UpdateFields(JSONObject(members.map { JSONMember($0.0, $0.1) })))
}

private func trigger(_ text: String, _ fields: [String]) throws -> TriggerExpression {
    try TriggerExpression(parsing: text, fields: fields)
}

@Suite("A batch of updates")
struct UpdateBatchTests {
    private static let fields = ["last_price", "time"]
    private static let isHigh = "Double.parseDouble(${last_price}) > 100"

    /// An item with a price and a time.
    private static let anduct = ItemState(
        seq: 7,
        fields: [.init(name: "last_price", text: "90", seq: 6), .init(name: "time", text: "12:00", seq: 7)])

    @Test("has the items that changed, by the bytes of their names, and counts their updates")
    func items() throws {
        let batch = UpdateBatch(
            [try update("b", ("x", 1)), try update("B", ("x", 1)), try update("b", ("x", 2)), try update("e\u{301}")],
            items: [(name: "\u{e9}", state: Self.anduct), (name: "b", state: Self.anduct)])
        #expect(batch.faults == [nil, nil, nil, nil])
        #expect(batch.items.map(\.name) == ["B", "b", "e\u{301}"])
        #expect(batch.items.map(\.state.seq) == [1, 9, 1])
        #expect(batch.items[1].state.texts(of: ["x", "time"], .merge) == ["2", "12:00"])
    }

    @Test("refuses an update that its item can't hold, and takes the others")
    func faults() throws {
        let full = ItemState(seq: 1, fields: (0..<256).map { .init(name: "\($0)", text: "", seq: 1) })
        let batch = UpdateBatch(
            [try update("a", ("x", 1)), try update("a", ("0", 2)), try update("b", ("x", 1))],
            items: [(name: "a", state: full)])
        #expect(batch.faults == [.itemHasTooManyFields, nil, nil])
        #expect(batch.items.map(\.state.seq) == [2, 1])
        #expect(batch.items[0].state.lastSeq(naming: ["x"]) == 0)
    }

    @Test("has no item whose updates were all refused")
    func allRefused() throws {
        let full = ItemState(seq: 1, fields: (0..<256).map { .init(name: "\($0)", text: "", seq: 1) })
        let batch = UpdateBatch([try update("a", ("x", 1))], items: [(name: "a", state: full)])
        #expect(batch.items.isEmpty)
        #expect(batch.numbers(of: "a", fields: nil).fields.isEmpty)
    }

    @Test("knows the lowest and the highest number of a field, in mode MERGE also one from before")
    func numbers() throws {
        let updates = [
            try update("a", ("time", "12:01")), try update("a", ("last_price", "120")),
            try update("a", ("last_price", "n/a")), try update("a", ("last_price", 110)),
        ]
        let batch = UpdateBatch(updates, items: [(name: "a", state: Self.anduct)])
        let numbers = batch.numbers(of: "a", fields: nil)
        #expect(numbers.range(of: "last_price", .merge, .double) == 90...120)
        #expect(numbers.range(of: "last_price", .distinct, .integer) == 110...120)
        #expect(numbers.range(of: "time", .merge, .double) == nil)
        // Once for each mode and conversion.
        #expect(numbers.fields.map(\.name) == Array(repeating: "last_price", count: 4))
        #expect(batch.numbers(of: "a", fields: ["time"]).fields.isEmpty)
        #expect(batch.numbers(of: "b", fields: nil).fields.isEmpty)
    }

    @Test("fires a trigger at the first update that satisfies it, with the texts of that moment")
    func fires() throws {
        let batch = UpdateBatch(
            [
                try update("a", ("last_price", 99)), try update("a", ("last_price", 101)),
                try update("a", ("last_price", 102), ("time", .null)),
            ], items: [(name: "a", state: Self.anduct)])
        let high = try trigger(Self.isHigh, Self.fields)
        let merged = batch.firing(high, of: Self.fields, items: ["a"], .merge)
        #expect(merged == FiredTrigger(item: "a", texts: ["101", "12:00"]))
        let alone = batch.firing(high, of: Self.fields, items: ["a"], .distinct)
        #expect(alone == FiredTrigger(item: "a", texts: ["101", nil]))
    }

    @Test("fires a trigger at the item whose update came first, whatever the order of the group")
    func firstOfGroup() throws {
        let updates = [
            try update("a", ("last_price", 1)), try update("b", ("last_price", 201)),
            try update("a", ("last_price", 301)), try update("c", ("last_price", 401)),
        ]
        let batch = UpdateBatch(updates, items: [])
        let high = try trigger(Self.isHigh, Self.fields)
        for items in [["a", "b", "c"], ["c", "b", "a"], ["d", "c", "a", "b"]] {
            let fired = batch.firing(high, of: Self.fields, items: items, .merge)
            #expect(fired == FiredTrigger(item: "b", texts: ["201", nil]))
        }
        #expect(batch.firing(high, of: Self.fields, items: ["d"], .merge) == nil)
    }

    @Test("fires a trigger at a level, which no update has to cross")
    func level() throws {
        let high = ItemState(seq: 1, fields: [.init(name: "last_price", text: "150", seq: 1)])
        let batch = UpdateBatch([try update("a", ("time", "12:00"))], items: [(name: "a", state: high)])
        let isHigh = try trigger(Self.isHigh, Self.fields)
        let merged = batch.firing(isHigh, of: Self.fields, items: ["a"], .merge)
        #expect(merged == FiredTrigger(item: "a", texts: ["150", "12:00"]))
        #expect(batch.firing(isHigh, of: Self.fields, items: ["a"], .distinct) == nil)
    }

    @Test("asks a trigger at an update that names none of its fields, in both modes")
    func otherFields() throws {
        let batch = UpdateBatch([try update("a", ("volume", 5))], items: [(name: "a", state: Self.anduct)])
        let always = try trigger("1 < 2", Self.fields)
        let merged = batch.firing(always, of: Self.fields, items: ["a"], .merge)
        #expect(merged == FiredTrigger(item: "a", texts: ["90", "12:00"]))
        let alone = batch.firing(always, of: Self.fields, items: ["a"], .distinct)
        #expect(alone == FiredTrigger(item: "a", texts: [nil, nil]))
    }

    @Test("asks triggers in the order of updates, and stops when that is enough work")
    func work() throws {
        let equal = try trigger("${text}.equals(${text}) && 1 > 2", ["text"])
        let high = try trigger(Self.isHigh, Self.fields)
        let questions = [
            TriggerQuestion(equal, of: ["text"], item: "a", .merge),
            TriggerQuestion(high, of: Self.fields, item: "a", .merge),
            TriggerQuestion(high, of: Self.fields, item: "b", .distinct),
        ]
        let long = JSONValue.string(String(repeating: "x", count: 10_000))
        let updates = [
            try update("a", ("text", long)), try update("b", ("last_price", 101)), try update("a", ("x", 1)),
            try update("a", ("text", long)), try update("a", ("last_price", 101)),
        ]
        let batch = UpdateBatch(updates, items: [])
        #expect(batch.ask(questions, workMax: 1 << 20).satisfied == [2, 1])
        #expect(batch.ask(questions, workMax: 1 << 20).updateCount == 5)
        // The third update doesn't name the text, so the text isn't compared again.
        #expect(batch.ask(questions, workMax: 36_000).updateCount == 4)
        #expect(batch.ask(questions, workMax: 36_000).satisfied == [2])
        #expect(batch.ask(questions, workMax: 1).updateCount == 1)
        #expect(batch.ask([], workMax: 1).updateCount == 5)
    }
}
