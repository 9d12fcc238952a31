import Basis
import Model
import Postgres
import Store
import TestSupport
import Testing
import TriggerRules
import TriggerStore

private let dawn = StoreWorld.dawn
private let price = "Double.parseDouble(${last_price})"

@Suite("A trigger of a subscription to items")
struct FiringTests {
    private static func withPhone(_ body: (ItemWorld) async throws -> Void) async throws {
        try await withItems { items in
            try await items.register("phone")
            try await body(items)
        }
    }

    @Test("fires once, with the texts of its fields, and is armed no more")
    func once() async throws {
        try await Self.withPhone { items in
            let fields = ["stock_name", "last_price", "note"]
            let terms = try ItemWorld.terms(["anduct"], fields: fields, trigger: "\(price) <= 2.85")
            let subscription = try await items.subscribe("phone", terms)
            try await items.update("anduct", #"{"stock_name": "Anduct", "last_price": 2.90}"#)
            #expect(try await items.held() == [])
            let update = try ItemWorld.update("anduct", #"{"last_price": 2.84}"#)
            #expect(await items.stores.updates.take([update], app: items.world.app, now: dawn).raisedAny)
            let held = ItemWorld.Held(subscription: subscription.id, item: "anduct", texts: ["Anduct", "2.84", nil])
            #expect(try await items.held() == [held])
            #expect(try await items.triggered() == [subscription.id])
            let waiting = """
                SELECT count(*) FROM held_pushes WHERE is_triggered AND ready_at = due_at
                    AND extract(epoch FROM due_at) * 1000000 = \(dawn.microseconds)
                """
            #expect(try await items.world.number(waiting) == 1)
            #expect(try await items.number(of: "armed") == 0)
            try await items.releaseAll()
            try await items.update("anduct", #"{"last_price": 2.80}"#)
            #expect(try await items.held() == [])
        }
    }

    @Test("fires at a level that was reached before it was armed, at the next update of any field")
    func level() async throws {
        try await Self.withPhone { items in
            try await items.update("anduct", #"{"last_price": 2.84}"#)
            let terms = try ItemWorld.terms(["anduct"], trigger: "\(price) < 3.0")
            try await items.subscribe("phone", terms)
            try await items.subscribe("phone", try ItemWorld.terms(["anduct"], .distinct, trigger: "\(price) < 3.0"))
            #expect(try await items.held() == [])
            try await items.update("anduct", #"{"bid": 1}"#)
            #expect(try await items.held().map(\.texts) == [["2.84"]])
            // In mode DISTINCT the update has to name the field itself.
            try await items.update("anduct", #"{"last_price": 2.84}"#)
            #expect(try await items.held().map(\.texts) == [["2.84"], ["2.84"]])
        }
    }

    @Test(
        "finds its bound at each side of a number, and at the number itself",
        arguments: [
            ("<", "3.0", ["2.999999999999999"], ["3", "3.5", "x"]), ("<=", "3.0", ["3", "-1"], ["3.0000000000000004"]),
            (">", "3.0", ["3.0000000000000004"], ["3", "2"]), (">=", "3.0", ["3.0", "1e300"], ["2.999999999999999"]),
            ("==", "3.0", ["3", " 3.00 "], ["3.1", "2.9"]), ("!=", "3.0", ["2.9", "3.1"], ["3", "NaN"]),
            ("==", "0.0", ["-0.0", "0"], ["1e-300"]), ("<", "99.99999999999999999", ["99.9"], ["100.0"]),
            (">=", "99.99999999999999999", ["100.0"], ["99.9"]),
        ])
    func bounds(comparison: String, bound: String, fires: [String], stays: [String]) async throws {
        try await Self.withPhone { items in
            let terms = try ItemWorld.terms(["anduct"], trigger: "\(price) \(comparison) \(bound)")
            for text in fires {
                let subscription = try await items.subscribe("phone", terms)
                for other in stays { try await items.update("anduct", #"{"last_price": "\#(other)"}"#) }
                #expect(try await items.held() == [])
                try await items.update("anduct", #"{"last_price": "\#(text)"}"#)
                #expect(try await items.held().map(\.subscription) == [subscription.id], "\(text)")
                try await items.releaseAll()
            }
        }
    }

    @Test("reads integers in their own way, beside doubles of the same field")
    func integers() async throws {
        try await Self.withPhone { items in
            let whole = try await items.subscribe(
                "phone", try ItemWorld.terms(["a"], trigger: "Integer.parseInt(${last_price}) > 2"))
            let double = try await items.subscribe("phone", try ItemWorld.terms(["a"], trigger: "\(price) > 2"))
            try await items.update("a", #"{"last_price": "3.5"}"#)
            #expect(try await items.triggered() == [double.id])
            try await items.update("a", #"{"last_price": "3"}"#)
            #expect(try await items.triggered() == [whole.id, double.id])
        }
    }

    @Test("fires for a group at the first of its items that satisfies it, by the order of updates")
    func group() async throws {
        try await Self.withPhone { items in
            let terms = try ItemWorld.terms(["a", "b", "c"], trigger: "\(price) > 10")
            let threshold = try await items.subscribe("phone", terms)
            let other = try await items.subscribe(
                "phone",
                try ItemWorld.terms(["a", "b", "c"], trigger: "\(price) > 10 && ${last_price}.equals(\"12\")"))
            let updates = [
                try ItemWorld.update("a", #"{"last_price": 1}"#), try ItemWorld.update("c", #"{"last_price": 11}"#),
                try ItemWorld.update("b", #"{"last_price": 12}"#), try ItemWorld.update("a", #"{"last_price": 12}"#),
            ]
            _ = await items.stores.updates.take(updates, app: items.world.app, now: dawn)
            let held = [
                ItemWorld.Held(subscription: threshold.id, item: "c", texts: ["11"]),
                ItemWorld.Held(subscription: other.id, item: "b", texts: ["12"]),
            ]
            #expect(try await items.held() == held)
            for table in ["armed", "armed_other"] { #expect(try await items.number(of: table) == 0) }
        }
    }

    @Test("fires once where two transactions satisfy it at two items at once")
    func atOnce() async throws {
        try await withItems { items in
            for number in 0..<10 {
                try await items.register("phone\(number)")
                try await items.subscribe("phone\(number)", try ItemWorld.terms(["a", "b"], trigger: "\(price) > 1"))
            }
            await withTaskGroup(of: Void.self) { group in
                for item in ["a", "b", "a", "b"] {
                    group.addTask {
                        do {
                            try await items.update(item, #"{"last_price": 2}"#)
                        } catch { Issue.record(error) }
                    }
                }
            }
            #expect(try await items.held().count == 10)
            #expect(try await items.triggered().count == 10)
        }
    }

    @Test("stays armed while its subscription holds a push, its token is retired, or it has expired")
    func notAsked() async throws {
        try await withItems { items in
            for device in ["phone", "tablet", "watch", "car"] { try await items.register(device) }
            let expiry = dawn + .seconds(60)
            for device in ["phone", "tablet", "car"] {
                try await items.subscribe(device, try ItemWorld.terms(["a"], trigger: "\(price) > 1"))
            }
            try await items.subscribe("watch", try ItemWorld.terms(["a"], trigger: "\(price) > 1", expiresAt: expiry))
            try await items.retire("tablet")
            try await items.world.pool.script(
                """
                INSERT INTO held_pushes (subscription_id, app_id, registration_id, item_id, is_triggered, texts, ready_at,
                    due_at)
                SELECT s.id, s.app_id, s.registration_id, i.id, true, '{7}', now(), now()
                FROM item_subscriptions s, items i, registrations r
                WHERE r.id = s.registration_id AND r.installation = 'phone'
                """)
            try await items.update("a", #"{"last_price": 2}"#, at: expiry)
            #expect(try await items.held().map(\.texts) == [["7"], ["2"]])
            #expect(try await items.triggered().count == 1)
            // Those that were not asked are asked at the next update, if they can be.
            try await items.releaseAll()
            try await items.world.pool.script("UPDATE registrations SET state = 1")
            try await items.update("a", #"{"last_price": 3}"#, at: dawn)
            #expect(try await items.held().map(\.texts) == [["3"], ["3"], ["3"]])
        }
    }

    @Test("fires beside more groups of thresholds than are read of an item")
    func manyGroups() async throws {
        try await Self.withPhone { items in
            for number in 0..<70 {
                let field = "f\(number)"
                try await items.subscribe(
                    "phone", try ItemWorld.terms(["a"], fields: [field], trigger: "Double.parseDouble(${\(field)}) > 1")
                )
            }
            try await items.update("a", #"{"f69": 2, "f7": 0}"#)
            #expect(try await items.held().map(\.texts) == [["2"]])
        }
    }

    @Test(
        "fires on fields with several groups, in a long batch and beside many groups", .timeLimit(.minutes(1)))
    func manyFields() async throws {
        try await Self.withPhone { items in
            for number in 0..<70 {
                let field = "f\(number)"
                let trigger = "Integer.parseInt(${\(field)}) > 1 || Double.parseDouble(${\(field)}) <= -1.5"
                let mode: UpdateMode = number % 2 == 0 ? .merge : .distinct
                try await items.subscribe("phone", try ItemWorld.terms(["a"], fields: [field], mode, trigger: trigger))
            }
            let all = (0..<256).map { "\"f\($0)\": 0" }.joined(separator: ", ")
            try await items.update("a", "{\(all)}")
            #expect(try await items.held() == [])
            var updates = try (0..<1_000).map { try ItemWorld.update("a", #"{"f\#($0 % 256)": 1}"#) }
            updates[500] = try ItemWorld.update("a", #"{"f68": "-1.5", "f69": "-2", "f1": null}"#)
            updates[999] = try ItemWorld.update("a", #"{"f1": 7, "f200": 9}"#)
            let result = await items.stores.updates.take(updates, app: items.world.app, now: dawn)
            #expect(result.replies.allSatisfy { $0 == .success(.taken) })
            let held = try await items.held()
            // The first conversion of "-1.5" fails, and the trigger with it.
            #expect(held.map(\.texts) == [["7"], ["-2"]])
        }
    }

    @Test("fires together with thousands of others")
    func many() async throws {
        try await withItems { items in
            try await items.register("phone")
            let first = try await items.subscribe(
                "phone", try ItemWorld.terms(["a"], trigger: "\(price) > 0"))
            try await items.world.pool.script(
                """
                INSERT INTO item_subscriptions (key, app_id, registration_id, items, fields, mode, trigger, template_id,
                    when_paused, identity_hash)
                SELECT gen_random_uuid(), app_id, registration_id, items, fields, mode,
                    'Double.parseDouble(${last_price}) > ' || n || '.0', template_id, when_paused, identity_hash
                FROM item_subscriptions, generate_series(1, 5000) AS n;
                INSERT INTO armed SELECT i.id, 1, 'last_price', 1, 5, s.id - \(first.id), s.id
                FROM item_subscriptions s, items i WHERE s.id > \(first.id)
                """)
            try await items.update("a", #"{"last_price": 4500.5}"#)
            #expect(try await items.triggered().count == 4_501)
            #expect(try await items.held().map(\.subscription) == items.triggered())
            #expect(try await items.number(of: "armed") == 500)
            #expect(try await items.world.number("SELECT min(bound)::int8 FROM armed") == 4_501)
        }
    }
}

@Suite("Random triggers, compared with a model that asks each of them after each update")
struct FiringModelTests {
    /// Subscriptions that are still armed, and the items as they are.
    private struct Model {
        var items: [String: [String: String]] = [:]
        var armed: [(id: Int64, terms: SubscriptionTerms)] = []
        var held: [ItemWorld.Held] = []

        mutating func take(_ item: String, _ fields: [String: String]) throws {
            items[item, default: [:]].merge(fields) { $1 }
            let merged = items[item, default: [:]]
            for (id, terms) in armed where terms.items.contains(item) {
                let values = terms.mode == .merge ? merged : fields
                let trigger = try TriggerExpression(parsing: #require(terms.trigger).text, fields: terms.fields)
                guard trigger.holds({ values[$0] }) else { continue }
                held.append(ItemWorld.Held(subscription: id, item: item, texts: terms.fields.map { values[$0] }))
                armed.removeAll { $0.id == id }
            }
        }
    }

    private static let items = ["a", "b", "c"]
    private static let fields = ["last_price", "bid"]

    private static func trigger(_ random: inout SeededGenerator) -> String {
        func number(_ field: String) -> String {
            let isInteger = Int.random(in: 0..<3, using: &random) == 0
            return "\(isInteger ? "Integer.parseInt" : "Double.parseDouble")(${\(field)})"
        }
        func comparison() -> String {
            let field = fields.randomElement(using: &random) ?? ""
            let comparison = TriggerComparison.allCases.randomElement(using: &random) ?? .less
            let bound = Double(Int.random(in: 0...20, using: &random)) / 2
            let isFirst = Bool.random(using: &random)
            let (left, right) = isFirst ? (number(field), "\(bound)") : ("\(bound)", number(field))
            return "\(left) \(comparison.rawValue) \(right)"
        }
        switch Int.random(in: 0..<8, using: &random) {
        case 0: return "\(comparison()) && \(comparison())"
        case 1: return "\(comparison()) || ${bid}.equals(\"7\")"
        case 2: return "!(\(comparison()))"
        case 3: return "\(comparison()) || \(comparison())"
        case 4: return "${bid}.equals(\"7\") && (\(comparison()) || \(comparison()))"
        default: return comparison()
        }
    }

    private static func fields(_ random: inout SeededGenerator) -> [String: String] {
        var chosen: [String: String] = [:]
        for field in fields where Bool.random(using: &random) {
            let half = Int.random(in: 0...20, using: &random)
            chosen[field] = ["\(half / 2)", "\(Double(half) / 2)", "7", "n/a"].randomElement(using: &random)
        }
        return chosen
    }

    @Test("fire exactly where an update satisfies them, each once and with its texts", arguments: 0..<4)
    func exact(seed: UInt64) async throws {
        try await withItems { world in
            var random = SeededGenerator(seed: seed)
            var model = Model()
            for device in 0..<2 { try await world.register("i\(device)") }
            for number in 0..<120 {
                let chosen = Self.items.filter { _ in Bool.random(using: &random) }
                let terms = try ItemWorld.terms(
                    chosen.isEmpty ? ["a"] : chosen, fields: Self.fields,
                    Bool.random(using: &random) ? .merge : .distinct, trigger: Self.trigger(&random))
                model.armed.append((try await world.subscribe("i\(number % 2)", terms).id, terms))
            }
            for step in 0..<25 {
                var updates: [ItemUpdate] = []
                for _ in 0..<Int.random(in: 1...4, using: &random) {
                    let item = Self.items.randomElement(using: &random) ?? ""
                    let fields = Self.fields(&random)
                    let members = fields.map { #""\#($0.key)": "\#($0.value)""# }.joined(separator: ", ")
                    updates.append(try ItemWorld.update(item, "{\(members)}"))
                    try model.take(item, fields)
                }
                let result = await world.stores.updates.take(updates, app: world.world.app, now: dawn)
                #expect(result.replies.allSatisfy { $0 == .success(.taken) })
                let expected = model.held.sorted { $0.subscription < $1.subscription }
                #expect(try await world.held() == expected, "seed \(seed), step \(step)")
            }
            #expect(model.held.count > 40, "seed \(seed)")
        }
    }
}
