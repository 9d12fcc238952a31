import Basis
import Model
import Postgres
import Store
import Testing
import TriggerRules
import TriggerStore

private let dawn = StoreWorld.dawn

/// The time so many seconds after dawn.
private func after(_ seconds: Double) -> WallInstant { dawn + .seconds(seconds) }

@Suite("Followers of an item")
struct FollowerTests {
    static func price(_ text: String = "price") throws -> SubscriptionTerms {
        try ItemWorld.terms(["anduct"], text: text)
    }

    @Test("get one push for the updates of a second, with the newest texts")
    func gathered() async throws {
        try await withItems { items in
            for phone in ["one", "two"] {
                try await items.register(phone)
                try await items.subscribe(phone, try Self.price())
            }
            try await items.update("anduct", #"{"last_price": 2.84}"#)
            try await items.update("anduct", #"{"last_price": 2.90}"#, at: after(0.5))
            #expect(try await items.follow(at: after(0.9)) == [])
            #expect(try await items.follow(at: after(1)) == [2])
            #expect(try await items.cut() == ["one price: 2.90", "two price: 2.90"])
            #expect(try await items.number(of: "messages") == 1, "they share a message")
            #expect(try await items.number(of: "item_due") == 0)
            #expect(try await items.follow(at: after(99)) == [])
            let isOfUpdate = "SELECT count(*) FROM messages WHERE origin = 2 AND ignored_limits = 3 AND priority = 1"
            #expect(try await items.world.number(isOfUpdate) == 1)
        }
    }

    @Test("get none for what came before, and for updates that name none of their fields")
    func news() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.update("anduct", #"{"last_price": 1}"#)
            try await items.subscribe("phone", try Self.price(), at: after(1))
            try await items.update("anduct", #"{"bid": 1}"#, at: after(2))
            #expect(try await items.follow(at: after(3)) == [0])
            #expect(try await items.number(of: "item_due") == 0)
            try await items.update("anduct", #"{"last_price": 1}"#, at: after(4))
            #expect(try await items.follow(at: after(5)) == [1], "an unchanged value counts")
            try await items.update("anduct", #"{"last_price": null}"#, at: after(60))
            #expect(try await items.follow(at: after(61)) == [1])
            #expect(try await items.cut() == ["phone price: -", "phone price: 1"])
        }
    }

    @Test("see the last update's fields alone in mode DISTINCT")
    func distinct() async throws {
        try await withItems { items in
            try await items.register("phone")
            for mode in UpdateMode.allCases {
                let terms = try ItemWorld.terms(
                    ["anduct"], fields: ["last_price", "bid"], mode, text: mode.rawValue)
                try await items.subscribe("phone", terms.pausing(0))
            }
            try await items.update("anduct", #"{"last_price": 1, "bid": 2}"#)
            try await items.update("anduct", #"{"bid": 3}"#)
            try await items.follow(at: after(1))
            #expect(try await items.cut() == ["phone DISTINCT: -, 3", "phone MERGE: 1, 3"])
        }
    }

    @Test("hold their newest push while the window is shut, or drop it if they ask for that")
    func throttled() async throws {
        try await withItems { items in
            for (phone, whenPaused) in [("holder", WhenPaused.newest), ("dropper", .drop)] {
                try await items.register(phone)
                try await items.subscribe(phone, try Self.price().pausing(30, whenPaused))
            }
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.follow(at: after(1)) == [2])
            for second in [2.0, 10] {
                try await items.update("anduct", #"{"last_price": \#(second)}"#, at: after(second))
                #expect(try await items.follow(at: after(second + 1)) == [0])
                #expect(try await items.held().map(\.texts) == [nil], "its texts are read when it goes")
            }
            _ = try await items.cut()
            try await items.update("anduct", #"{"last_price": 30}"#, at: after(30))
            #expect(try await items.release(at: after(30.9)) == 0)
            #expect(try await items.release(at: after(31)) == 1)
            #expect(try await items.cut() == ["holder price: 30"])
            #expect(try await items.follow(at: after(31)) == [1], "the holder's push has shown this update")
            #expect(try await items.cut() == ["dropper price: 30"])
            #expect(try await items.held() == [])
        }
    }

    @Test("share a message by template and texts, in which each device is once")
    func messages() async throws {
        try await withItems { items in
            for phone in ["one", "two"] { try await items.register(phone) }
            for (phone, text) in [("one", "price"), ("one", "price"), ("two", "price"), ("two", "other")] {
                try await items.subscribe(phone, try Self.price(text).pausing(0))
            }
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.follow(at: after(1)) == [4])
            #expect(
                try await items.cut() == ["one price: 1", "one price: 1", "two other: 1", "two price: 1"])
            #expect(try await items.number(of: "messages") == 3)
            #expect(try await items.number(of: "push_templates") == 2)
        }
    }

    @Test("get one push of the newest of several items that were updated together")
    func severalItems() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try ItemWorld.terms(["a", "b", "c"], text: "price").pausing(0))
            for (place, item) in ["b", "c", "a"].enumerated() {
                try await items.update(item, #"{"last_price": "\#(item)"}"#, at: after(Double(place) / 10))
            }
            #expect(try await items.follow(at: after(2)).reduce(0, +) == 1)
            #expect(try await items.cut() == ["phone price: a"])
        }
    }

    @Test("get one push without a pause for items that fall due one after the other")
    func gatheredOverItems() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try ItemWorld.terms(["ka", "kb", "kc"], text: "price").pausing(0))
            for (item, seconds) in [("ka", 0.0), ("kb", 0.01), ("kc", 0.02), ("kb", 0.03)] {
                try await items.update(item, #"{"last_price": "\#(item)"}"#, at: after(seconds))
            }
            #expect(try await items.follow(at: after(1)) == [1])
            #expect(try await items.cut() == ["phone price: kb"])
            for (seconds, due) in [(1.01, 1), (1.02, 0)] {
                #expect(try await items.follow(at: after(seconds)) == [0])
                #expect(try await items.number(of: "item_due") == due)
            }
            let behind = """
                SELECT count(*) FROM item_followers f JOIN items i ON i.id = f.item_id WHERE f.sent_seq <> i.seq
                """
            #expect(try await items.world.number(behind) == 0)
            try await items.update("kb", #"{"last_price": "later"}"#, at: after(5))
            #expect(try await items.follow(at: after(6)) == [1])
            #expect(try await items.cut() == ["phone price: later"])
        }
    }

    @Test("get no push of another item whose updates name none of their fields")
    func othersWithoutNews() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try ItemWorld.terms(["a", "b"], text: "price").pausing(0))
            try await items.update("a", #"{"last_price": "a"}"#)
            try await items.update("b", #"{"bid": 1}"#, at: after(0.5))
            #expect(try await items.follow(at: after(1)) == [1])
            #expect(try await items.cut() == ["phone price: a"])
            #expect(try await items.follow(at: after(2)) == [0])
        }
    }

    @Test("get each its push, fewer at a time if they follow several items")
    func severalInSlices() async throws {
        try await withItems { items in
            for number in 0..<5 {
                try await items.register("phone-\(number)")
                try await items.subscribe("phone-\(number)", try ItemWorld.terms(["a", "b"], text: "price"))
            }
            try await items.update("a", #"{"last_price": "a"}"#)
            try await items.update("b", #"{"last_price": "b"}"#, at: after(0.5))
            #expect(try await items.follow(at: after(1), subscriptionsMax: 8) == [2, 2, 1])
            #expect(try await items.cut() == (0..<5).map { "phone-\($0) price: b" })
            #expect(try await items.follow(at: after(2), subscriptionsMax: 8) == [0])
            #expect(try await items.held() == [])
            #expect(try await items.number(of: "item_due") == 0)
        }
    }

    @Test("get the push of the item that was updated last in one commit")
    func lastOfCommit() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try ItemWorld.terms(["a", "b"], text: "price").pausing(0))
            let updates = try [("a", 1), ("b", 2), ("a", 3)].map { item, price in
                try ItemWorld.update(item, #"{"last_price": \#(price)}"#)
            }
            _ = await items.stores.updates.take(updates, app: items.world.app, now: dawn)
            #expect(try await items.follow(at: after(1)).reduce(0, +) == 1)
            #expect(try await items.cut() == ["phone price: 3"])
        }
    }

    @Test("hold the push of the item that was updated last, whichever is decided on last")
    func heldInOrder() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try ItemWorld.terms(["a", "b"], text: "price"))
            try await items.update("a", #"{"last_price": 1}"#)
            #expect(try await items.follow(at: after(1)) == [1])
            for (item, seconds) in [("a", 2.0), ("b", 2.5), ("a", 2.9)] {
                try await items.update(item, #"{"last_price": \#(seconds)}"#, at: after(seconds))
            }
            for seconds in [3.0, 3.5] {
                try await items.follow(at: after(seconds))
                #expect(try await items.held().map(\.item) == ["a"])
            }
            _ = try await items.cut()
            #expect(try await items.release(at: after(31)) == 1)
            #expect(try await items.cut() == ["phone price: 2.9"])
        }
    }

    @Test("get each its push, slice by slice, and the update that comes between")
    func slices() async throws {
        try await withItems { items in
            for number in 10..<35 {
                try await items.register("phone-\(number)")
                try await items.subscribe("phone-\(number)", try Self.price())
            }
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.follow(at: after(1), subscriptionsMax: 10, turnsMax: 1) == [10])
            try await items.update("anduct", #"{"last_price": 2}"#, at: after(1))
            #expect(try await items.follow(at: after(1), subscriptionsMax: 10) == [10, 5])
            let first = (10..<20).map { "phone-\($0) price: 1" }
            #expect(try await items.cut() == first + (20..<35).map { "phone-\($0) price: 2" })
            #expect(try await items.number(of: "item_due") == 1, "the first slice misses the second update")
            try await items.follow(at: after(2), subscriptionsMax: 10)
            #expect(try await items.held().count == 10)
            #expect(try await items.number(of: "item_due") == 0)
        }
    }

    @Test("get none for a retired token or from a disabled app, and nothing later of what they missed")
    func missed() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try Self.price().pausing(0))
            try await items.retire("phone")
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.follow(at: after(1)) == [0])
            try await items.world.pool.script("UPDATE registrations SET state = 1")
            try await items.change { $0.triggers.isEnabled = false }
            try await items.update("anduct", #"{"last_price": 2}"#, at: after(2))
            #expect(try await items.follow(at: after(3)) == [0])
            try await items.change { $0.triggers.isEnabled = true }
            try await items.update("anduct", #"{"bid": 1}"#, at: after(4))
            #expect(try await items.follow(at: after(5)) == [0])
            try await items.update("anduct", #"{"last_price": 3}"#, at: after(6))
            #expect(try await items.follow(at: after(7)) == [1])
            #expect(try await items.cut() == ["phone price: 3"])
        }
    }

    @Test("get none once they have expired, or their device was removed")
    func gone() async throws {
        try await withItems { items in
            for phone in ["expired", "removed"] { try await items.register(phone) }
            try await items.subscribe("expired", try ItemWorld.terms(["anduct"], expiresAt: after(1)))
            try await items.subscribe("removed", try Self.price())
            _ = try await items.world.stores.registry.removeDevice(app: items.world.app, installation: "removed")
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.follow(at: after(1)) == [0])
            #expect(try await items.number(of: "item_due") == 0)
            #expect(try await items.world.number("SELECT count(*) FROM item_followers") == 1)
        }
    }

    @Test("miss no update that comes while their round writes")
    func updatedMeanwhile() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try Self.price().pausing(0))
            try await items.update("anduct", #"{"last_price": 1}"#)
            let pushes = try await items.follow(at: after(1)) {
                _ = try await items.update("anduct", #"{"last_price": 2}"#, at: after(1.5))
            }
            #expect(pushes == [1])
            #expect(try await items.number(of: "item_due") == 1)
            #expect(try await items.follow(at: after(1.9)) == [])
            #expect(try await items.follow(at: after(2)) == [1])
            #expect(try await items.cut() == ["phone price: 1", "phone price: 2"])
            #expect(try await items.number(of: "item_due") == 0)
        }
    }

    @Test("miss no update that commits after their round has read the item")
    func uncommitted() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try Self.price().pausing(0))
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.followBesideUpdate(at: after(1)) == [1])
            #expect(try await items.number(of: "item_due") == 1)
            #expect(try await items.follow(at: after(2)) == [1])
            #expect(try await items.cut() == ["phone price: 1", "phone price: 2"])
        }
    }

    @Test("get their pushes while an activation has locked the item")
    func besideActivation() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try Self.price().pausing(0))
            try await items.update("anduct", #"{"last_price": 1}"#)
            try await items.world.pool.transaction { transaction throws(PostgresError) in
                _ = try await transaction.run(query("SELECT FROM items FOR SHARE"))
                do { #expect(try await items.follow(at: after(1)) == [1]) } catch { Issue.record(error) }
            }
            #expect(try await items.number(of: "item_due") == 0)
        }
    }

    @Test("get a push at once from two rounds in two processes")
    func twoProcesses() async throws {
        try await withItems { items in
            for number in 0..<40 {
                try await items.register("phone-\(number)")
                try await items.subscribe(
                    "phone-\(number)", try ItemWorld.terms(["item-\(number % 8)"], text: "price"))
            }
            for number in 0..<8 { try await items.update("item-\(number)", #"{"last_price": 1}"#) }
            let other = ItemWorld(world: items.world, stores: TriggerStores(beside: items.world.stores))
            async let first = items.follow(at: after(1), subscriptionsMax: 7)
            async let second = other.follow(at: after(1), subscriptionsMax: 7)
            _ = try await (first, second)
            try await items.follow(at: after(1))
            #expect(try await items.cut() == (0..<40).map { "phone-\($0) price: 1" }.sorted())
            #expect(try await items.held() == [])
        }
    }

    @Test("share a transaction with those of another app, whose quiet hours are not theirs")
    func neighbour() async throws {
        try await withItems { items in
            let neighbour = try await items.world.neighbour().app
            let enabled = "UPDATE apps SET settings = settings || '{\"triggers\": {\"enabled\": true}}'"
            try await items.world.pool.script(enabled)
            try await items.world.spare(quiet: (11, 13))
            for app in [items.world.app, neighbour] {
                try await items.register("phone-\(app.value)", app: app)
                try await items.subscribe("phone-\(app.value)", try Self.price(), app: app)
                try await items.update("anduct", #"{"last_price": 1}"#, app: app)
            }
            #expect(try await items.follow(at: after(1)) == [1])
            #expect(try await items.cut() == ["phone-\(neighbour.value) price: 1"])
            #expect(try await items.held().count == 1)
        }
    }
}
