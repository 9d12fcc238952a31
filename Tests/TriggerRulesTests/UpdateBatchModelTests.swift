import JSON
import TestSupport
import Testing
import TriggerRules

/// Items as plain dictionaries, which take one update after the other.
private struct ItemModel {
    private var texts: [[UInt8]: [[UInt8]: String]] = [:]

    /// Returns the values that a trigger sees after the update.
    mutating func take(_ item: String, _ members: [JSONMember], _ mode: UpdateMode) -> [[UInt8]: String] {
        var all = texts[Array(item.utf8)] ?? [:]
        var named: [[UInt8]: String] = [:]
        for member in members {
            let text = member.value.string
            all[Array(member.name.utf8)] = text
            named[Array(member.name.utf8)] = text
        }
        texts[Array(item.utf8)] = all
        return mode == .merge ? all : named
    }
}

/// Random updates of a few items whose names are easily mistaken for one another.
private struct RandomUpdates {
    static let items = ["é", "e\u{301}", "a", "A"]
    static let fields = ["low", "high", "name", "bad", "gone"]
    private static let texts = ["1", "-3", "100.0", "0x10", "", "Anduct", "2147483648", "1e2", "7", "41"]

    var random: SeededGenerator

    mutating func pick<Value>(_ values: [Value]) -> Value {
        values[Int.random(in: 0..<values.count, using: &random)]
    }

    mutating func subset<Value>(of values: [Value]) -> [Value] {
        values.filter { _ in Bool.random(using: &random) }
    }

    mutating func next() -> (item: String, members: [JSONMember]) {
        let members = subset(of: Self.fields).map { name in
            JSONMember(name, Int.random(in: 0..<5, using: &random) == 0 ? .null : .string(pick(Self.texts)))
        }
        return (pick(Self.items), members)
    }
}

@Suite("Batches of random updates from a seed")
struct UpdateBatchModelTests {
    private static func batch(
        _ updates: [(item: String, members: [JSONMember])], _ states: [(name: String, state: ItemState)]
    ) throws -> UpdateBatch {
        UpdateBatch(
            try updates.map { ItemUpdate(item: $0.item, fields: try UpdateFields(JSONObject($0.members))) },
            items: states)
    }

    /// Returns the states after a batch, those of items that it left alone included.
    private static func states(
        _ batch: UpdateBatch, after states: [(name: String, state: ItemState)]
    ) -> [(name: String, state: ItemState)] {
        batch.items + states.filter { old in !batch.items.contains { $0.name.utf8.elementsEqual(old.name.utf8) } }
    }

    @Test(
        "have the numbers, and fire the triggers, of the same updates one by one", arguments: UpdateMode.allCases)
    func model(mode: UpdateMode) throws {
        var updates = RandomUpdates(random: SeededGenerator(seed: 21))
        var triggers = RandomTrigger(random: SeededGenerator(seed: 22))
        var model = ItemModel()
        var states: [(name: String, state: ItemState)] = []
        var outcomes = (fired: 0, missed: 0, ranges: 0)
        for round in 0..<1_000 {
            let count = Int.random(in: 1...6, using: &updates.random)
            let taken = (0..<count).map { _ in updates.next() }
            let seen = taken.map { (item: $0.item, values: model.take($0.item, $0.members, mode)) }
            let batch = try Self.batch(taken, states)
            states = Self.states(batch, after: states)

            let (item, field) = (updates.pick(RandomUpdates.items), updates.pick(RandomUpdates.fields))
            let conversion = updates.pick(NumberConversion.allCases)
            let numbers = seen.filter { $0.item.utf8.elementsEqual(item.utf8) }
                .compactMap { $0.values[Array(field.utf8)].flatMap(conversion.number) }
            let wanted = round % 2 == 0 ? nil : [field]
            let range = batch.numbers(of: item, fields: wanted).range(of: field, mode, conversion)
            #expect(range?.lowerBound == numbers.min(), "round \(round)")
            #expect(range?.upperBound == numbers.max(), "round \(round)")
            outcomes.ranges += range == nil ? 0 : 1

            let text = triggers.condition(depth: 1).text
            let trigger = try TriggerExpression(parsing: text, fields: RandomTrigger.fields)
            let group = updates.subset(of: RandomUpdates.items)
            let first = seen.first { update in
                group.contains { $0.utf8.elementsEqual(update.item.utf8) }
                    && trigger.holds { update.values[Array($0.utf8)] }
            }
            let expected = first.map { update in
                FiredTrigger(
                    item: update.item, texts: RandomTrigger.fields.map { update.values[Array($0.utf8)] })
            }
            let fired = batch.firing(trigger, of: RandomTrigger.fields, items: group, mode)
            #expect(fired == expected, "round \(round): \(text)")
            let questions = group.map { TriggerQuestion(trigger, of: RandomTrigger.fields, item: $0, mode) }
            let satisfied = batch.ask(questions, workMax: .max).satisfied
            #expect(satisfied.isEmpty == (expected == nil), "round \(round): \(text)")
            outcomes.fired += fired == nil ? 0 : 1
            outcomes.missed += fired == nil ? 1 : 0
        }
        #expect(outcomes.fired > 100 && outcomes.missed > 100 && outcomes.ranges > 100)
    }

    @Test("leave the same items as one batch for each update")
    func oneByOne() throws {
        var updates = RandomUpdates(random: SeededGenerator(seed: 23))
        var (grouped, single): ([(name: String, state: ItemState)], [(name: String, state: ItemState)]) = ([], [])
        for round in 0..<300 {
            let count = Int.random(in: 1...6, using: &updates.random)
            let taken = (0..<count).map { _ in updates.next() }
            grouped = Self.states(try Self.batch(taken, grouped), after: grouped)
            for update in taken { single = Self.states(try Self.batch([update], single), after: single) }
            #expect(grouped.count == single.count)
            for (name, state) in grouped {
                let other = single.first { $0.name.utf8.elementsEqual(name.utf8) }
                #expect(other?.state == state, "round \(round): \(name)")
            }
        }
    }
}
