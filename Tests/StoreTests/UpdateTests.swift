import Basis
import JSON
import Model
import Postgres
import Store
import TestSupport
import Testing
import TriggerRules
import TriggerStore

private let dawn = StoreWorld.dawn

@Suite("Updates of items in the database")
struct UpdateTests {
    @Test("merge into their item in order, and number it and its fields")
    func merged() async throws {
        try await withItems { items in
            #expect(try await items.update("anduct", #"{"last_price": 2.90, "halted": false}"#) == .taken)
            #expect(try await items.item("anduct") == "anduct 1: halted false 1, last_price 2.90 1")
            let updates = [
                try ItemWorld.update("anduct", #"{"last_price": 2.84}"#),
                try ItemWorld.update("zorin", #"{"last_price": "1"}"#),
                try ItemWorld.update("anduct", #"{"halted": null, "note": "a \"b\" \\ {c}, ü"}"#),
            ]
            let result = await items.stores.updates.take(updates, app: items.world.app, now: dawn)
            #expect(try result.replies.map { try $0.get() } == [.taken, .taken, .taken])
            #expect(!result.raisedAny)
            #expect(
                try await items.item("anduct")
                    == #"anduct 3: halted - 3, last_price 2.84 2, note a "b" \ {c}, ü 3"#)
            #expect(try await items.item("zorin") == "zorin 1: last_price 1 1")
        }
    }

    @Test("leave an item as it is where one is refused, and change it where one is taken")
    func refused() async throws {
        try await withItems { items in
            let long = String(repeating: "x", count: 15_000)
            for number in 0..<4 { try await items.update("anduct", #"{"f\#(number)": "\#(long)"}"#) }
            let updates = [
                try ItemWorld.update("anduct", #"{"a": 1}"#),
                try ItemWorld.update("anduct", #"{"f4": "\#(long)"}"#),
                try ItemWorld.update("zorin", #"{"a": 1}"#),
                try ItemWorld.update("anduct", #"{"b": 2}"#),
            ]
            let replies = await items.stores.updates.take(updates, app: items.world.app, now: dawn).replies
            guard case .success(.refused(.fault(.itemTooLarge))) = replies[1] else {
                return #expect(Bool(false), "\(replies[1])")
            }
            #expect([replies[0], replies[2], replies[3]].allSatisfy { $0 == .success(.taken) })
            #expect(try await items.item("anduct")?.hasPrefix("anduct 6: a 1 5, b 2 6, f0 ") == true)
        }
    }

    @Test("take names that differ in their bytes alone for different ones")
    func bytes() async throws {
        try await withItems { items in
            let spellings = ["caf\u{e9}", "cafe\u{301}"]
            let updates = try spellings.map { try ItemWorld.update($0, #"{"\#($0)": "\#($0.utf8.count)"}"#) }
            let both = try ItemWorld.update(spellings[0], #"{"\#(spellings[1])": 7}"#)
            let result = await items.stores.updates.take(updates + [both], app: items.world.app, now: dawn)
            #expect(result.replies.allSatisfy { $0 == .success(.taken) })
            #expect(try await items.number(of: "items") == 2)
            #expect(try await items.world.number("SELECT max(cardinality(field_names)) FROM items") == 2)
        }
    }

    @Test("make an item with followers due a second later, once until it is served")
    func due() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try ItemWorld.terms(["anduct"]))
            try await items.update("zorin", #"{"last_price": 1}"#)
            #expect(try await items.number(of: "item_due") == 0)
            let app = items.world.app
            let updates = [try ItemWorld.update("anduct", #"{"last_price": 1}"#)]
            #expect(await items.stores.updates.take(updates, app: app, now: dawn).raisedAny)
            let again = await items.stores.updates.take(updates, app: app, now: dawn + .milliseconds(900))
            #expect(!again.raisedAny)
            let second = (dawn + ThrottleWindow.gathering).microseconds
            let due = "SELECT count(*) FROM item_due WHERE extract(epoch FROM due_at) * 1000000 = \(second)"
            #expect(try await items.world.number(due) == 1)
        }
    }

    @Test("make no more items than an app may have, and still take updates of those it has")
    func full() async throws {
        try await withItems { items in
            let store = UpdateStore(pool: items.world.pool, notifier: items.world.stores.notifier, itemsMax: 2)
            let updates = try ["a", "b", "c", "a"].map { try ItemWorld.update($0, #"{"x": 1}"#) }
            for expected in [1...2, 2...4] {
                let result = await store.take(updates, app: items.world.app, now: dawn)
                #expect(
                    try result.replies.map { try $0.get() } == [.taken, .taken, .refused(.tooManyItems), .taken])
                #expect(try await items.item("a") == "a \(expected.upperBound): x 1 \(expected.upperBound)")
            }
            #expect(try await items.number(of: "items") == 2)
            let neighbour = try await items.world.neighbour().app
            #expect(await store.take([updates[2]], app: neighbour, now: dawn).replies == [.success(.taken)])
        }
    }

    @Test("take effect once for each idempotency key, which a refused one leaves free")
    func once() async throws {
        try await withItems { items in
            func take(_ json: String, key: String, body: UInt8) async throws -> UpdateReply {
                let claim = IdempotencyClaim(
                    operation: "POST updates", key: key, bodySHA256: [UInt8](repeating: body, count: 32))
                return try await items.stores.updates.take(
                    try ItemWorld.update("a", json), app: items.world.app, once: claim, now: dawn
                ).reply
            }
            let first = try await take(#"{"x": 1}"#, key: "k", body: 1)
            #expect(first == .taken)
            #expect(try await take(#"{"x": 1}"#, key: "k", body: 1) == .replayed)
            #expect(try await take(#"{"x": 2}"#, key: "k", body: 2) == .mismatch)
            let fields = (0..<256).map { #""f\#($0)": 1"# }.joined(separator: ", ")
            #expect(try await take("{\(fields)}", key: "l", body: 3) == .refused(.fault(.itemHasTooManyFields)))
            #expect(try await take(#"{"x": 3}"#, key: "l", body: 4) == .taken)
            #expect(try await items.item("a") == "a 2: x 3 2")
        }
    }

    @Test("commit in transactions at once, in whatever order these name the items")
    func atOnce() async throws {
        try await withItems { items in
            let names = (0..<20).map { "item\($0)" }
            let updates = try names.map { try ItemWorld.update($0, #"{"x": 1}"#) }
            await withTaskGroup(of: Void.self) { group in
                for number in 0..<8 {
                    group.addTask {
                        let ordered: [ItemUpdate] = number % 2 == 0 ? updates : updates.reversed()
                        let result = await items.stores.updates.take(ordered, app: items.world.app)
                        #expect(result.replies.allSatisfy { $0 == .success(.taken) })
                    }
                }
            }
            #expect(try await items.world.number("SELECT count(*) FROM items WHERE seq = 8") == names.count)
        }
    }

    @Test("fail as such where their app is gone")
    func unknownApp() async throws {
        try await withItems { items in
            let result = await items.stores.updates.take(
                [try ItemWorld.update("a", #"{"x": 1}"#)], app: AppID(9_999), now: dawn)
            #expect(result.replies == [.failure(.unknownApp)])
        }
    }
}

@Suite("The stream of a producer of updates")
struct ProducedUpdateTests {
    private static func lines(_ numbers: ClosedRange<Int64>, item: String = "a") throws -> [ProducedLine] {
        try numbers.map { ProducedLine(line: $0, update: try ItemWorld.update(item, #"{"x": \#($0)}"#)) }
    }

    @Test("loses and repeats nothing when it is sent again from an earlier line")
    func repeated() async throws {
        try await withItems { items in
            let (store, app) = (items.stores.updates, items.world.app)
            #expect(try await store.lastLine(of: "feed", app: app) == 0)
            var result = try await store.take(Self.lines(1...3), producer: "feed", app: app, now: dawn)
            #expect(result == ProducedResult(through: 3, refusals: [], raisedAny: false))
            result = try await store.take(Self.lines(2...5), producer: "feed", app: app, now: dawn)
            #expect(result.through == 5)
            #expect(try await items.item("a") == "a 5: x 5 5")
            result = try await store.take(Self.lines(1...5), producer: "feed", app: app, now: dawn)
            #expect(result.through == 5)
            #expect(try await store.take([], producer: "feed", app: app, now: dawn).through == 5)
            #expect(try await items.item("a") == "a 5: x 5 5")
            #expect(try await store.lastLine(of: "feed", app: app) == 5)
            #expect(try await store.lastLine(of: "other", app: app) == 0)
            let neighbour = try await items.world.neighbour().app
            #expect(try await store.take(Self.lines(1...2), producer: "feed", app: neighbour, now: dawn).through == 2)
        }
    }

    @Test("passes lines that are refused, and names those that were refused now")
    func refused() async throws {
        try await withItems { items in
            let (store, app) = (items.stores.updates, items.world.app)
            let fields = (0..<256).map { #""f\#($0)": 1"# }.joined(separator: ", ")
            let lines = [
                ProducedLine(line: 10, update: try ItemWorld.update("a", #"{"x": 1}"#)),
                ProducedLine(line: 20, update: nil),
                ProducedLine(line: 30, update: try ItemWorld.update("a", "{\(fields)}")),
                ProducedLine(line: 25, update: try ItemWorld.update("a", #"{"x": 2}"#)),
                ProducedLine(line: 40, update: nil),
            ]
            let result = try await store.take(lines, producer: "feed", app: app, now: dawn)
            let refusal = RefusedLine(line: 30, refusal: .fault(.itemHasTooManyFields))
            #expect(result == ProducedResult(through: 40, refusals: [refusal], raisedAny: false))
            #expect(try await items.item("a") == "a 1: x 1 1")
            #expect(try await store.take(lines, producer: "feed", app: app, now: dawn).refusals == [])
        }
    }

    @Test("commits lines in several transactions where their triggers are too much work for one")
    func costlyTriggers() async throws {
        try await withItems { items in
            try await items.register("phone")
            let texts = [#"${x}.equals("4")"#, #"${x}.equals("none")"#]
            for text in texts {
                try await items.subscribe("phone", try ItemWorld.terms(["a"], fields: ["x"], trigger: text))
            }
            let (world, app) = (items.world, items.world.app)
            let store = UpdateStore(pool: world.pool, notifier: world.stores.notifier, workMax: 1)
            let fields = (0..<256).map { #""f\#($0)": 1"# }.joined(separator: ", ")
            let lines =
                try Self.lines(1...6) + [
                    ProducedLine(line: 7, update: nil),
                    ProducedLine(line: 8, update: try ItemWorld.update("a", "{\(fields)}")),
                ]
            let result = try await store.take(lines, producer: "feed", app: app, now: dawn)
            let refusal = RefusedLine(line: 8, refusal: .fault(.itemHasTooManyFields))
            #expect(result == ProducedResult(through: 8, refusals: [refusal], raisedAny: true))
            #expect(try await store.lastLine(of: "feed", app: app) == 8)
            #expect(try await items.held().map(\.texts) == [["4"]])
            #expect(try await items.item("a") == "a 6: x 6 6")
            // The last update of a transaction with more would have a later time.
            let time = "SELECT (extract(epoch FROM updated_at) * 1000000)::int8 FROM items"
            #expect(try await world.number(time) == Int(dawn.microseconds))
            let replies = await store.take(lines.compactMap(\.update), app: app, now: dawn).replies
            #expect(replies.map { $0 == .success(.taken) } == [true, true, true, true, true, true, false])
            #expect(try await world.number(time) == Int(dawn.microseconds))
        }
    }

    @Test("follows the order of its commits where two of its name are open at once")
    func twoStreams() async throws {
        try await withItems { items in
            let (store, app) = (items.stores.updates, items.world.app)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask {
                        for start in stride(from: Int64(1), through: 91, by: 10) {
                            let lines = try Self.lines(start...(start + 9))
                            let result = try await store.take(lines, producer: "feed", app: app)
                            #expect(result.through >= start + 9)
                        }
                    }
                }
                try await group.waitForAll()
            }
            #expect(try await items.item("a") == "a 100: x 100 100")
        }
    }
}
