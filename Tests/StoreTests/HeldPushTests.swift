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

@Suite("A held push")
struct HeldPushTests {
    /// Fires when the price of the item is above zero.
    private static func triggered(_ item: String = "anduct", text: String = "trigger") throws -> SubscriptionTerms {
        try ItemWorld.terms([item], trigger: "Double.parseDouble(${last_price}) > 0", text: text)
    }

    private static let off: @Sendable (inout AppChange) -> Void = { $0.triggers.isEnabled = false }
    private static let on: @Sendable (inout AppChange) -> Void = { $0.triggers.isEnabled = true }

    @Test("goes at once if a trigger made it, and puts off the device's other pushes")
    func atOnce() async throws {
        try await withItems { items in
            try await items.register("phone")
            for text in ["a", "b", "c"] { try await items.subscribe("phone", try Self.triggered(text: text)) }
            try await items.update("anduct", #"{"last_price": 1}"#)
            try await items.update("anduct", #"{"last_price": 2}"#)
            #expect(try await items.release(at: dawn) == 1)
            #expect(try await items.cut() == ["phone a: 1"])
            #expect(try await items.release(at: after(29.9)) == 0)
            #expect(try await items.release(at: after(30)) == 1)
            #expect(try await items.cut() == ["phone b: 1"], "its texts are those that fired it")
            #expect(try await items.release(at: after(60)) == 1)
            #expect(try await items.held() == [])
        }
    }

    @Test("goes behind those of its device that were ready before")
    func inOrder() async throws {
        try await withItems { items in
            try await items.register("phone")
            let second = try await items.subscribe("phone", try Self.triggered("second", text: "second"))
            try await items.subscribe("phone", try ItemWorld.terms(["first"], text: "first"))
            try await items.subscribe("phone", try Self.triggered("opener", text: "opener"))
            try await items.update("opener", #"{"last_price": 1}"#)
            #expect(try await items.release(at: dawn) == 1)
            try await items.update("first", #"{"last_price": 1}"#, at: after(1))
            try await items.follow(at: after(2))
            try await items.update("second", #"{"last_price": 1}"#, at: after(3))
            #expect(try await items.release(at: after(3)) == 0)
            #expect(try await items.held().map(\.subscription).contains(second.id))
            for (seconds, text) in [(30.0, "first"), (60, "second")] {
                _ = try await items.cut()
                #expect(try await items.release(at: after(seconds)) == 1)
                #expect(try await items.cut() == ["phone \(text): 1"])
            }
        }
    }

    @Test("shuts the window for its own pause, also for none")
    func pauses() async throws {
        try await withItems { items in
            try await items.register("phone")
            for (text, pause) in [("a", Int32(0)), ("b", 90), ("c", 0)] {
                try await items.subscribe("phone", try Self.triggered(text: text).pausing(pause))
            }
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.release(at: dawn) == 2)
            #expect(try await items.cut() == ["phone a: 1", "phone b: 1"])
            #expect(try await items.release(at: after(89)) == 0)
            #expect(try await items.release(at: after(90)) == 1)
        }
    }

    @Test("stays if a trigger made it, whatever its subscription is updated with")
    func notReplaced() async throws {
        try await withItems { items in
            try await items.register("phone")
            let subscription = try await items.subscribe("phone", try Self.triggered())
            try await items.update("anduct", #"{"last_price": 1}"#)
            let terms = try ItemWorld.terms(["anduct"], text: "follower")
            let reply = try await items.stores.subscriptions.modify(
                subscription.key, of: try await items.device("phone"), from: 1, to: terms, rearms: true, now: dawn)
            #expect(reply.subscription?.status == .active)
            try await items.update("anduct", #"{"last_price": 2}"#)
            #expect(try await items.follow(at: after(1)) == [0])
            #expect(try await items.release(at: after(1)) == 1)
            #expect(try await items.cut() == ["phone follower: 1"])
        }
    }

    @Test("goes once though two processes release it")
    func twoProcesses() async throws {
        try await withItems { items in
            for number in 0..<60 {
                try await items.register("phone-\(number)")
                for text in ["a", "b"] {
                    try await items.subscribe("phone-\(number)", try Self.triggered(text: text))
                }
            }
            try await items.update("anduct", #"{"last_price": 1}"#)
            let other = ItemWorld(world: items.world, stores: TriggerStores(beside: items.world.stores))
            for seconds in [0.0, 30] {
                async let first = items.release(at: after(seconds))
                async let second = other.release(at: after(seconds))
                let pushes = try await first + second
                // One may have passed over windows that the other had locked.
                #expect(try await pushes + items.release(at: after(seconds)) == 60)
                let text = seconds == 0 ? "a" : "b"
                #expect(try await items.cut() == (0..<60).map { "phone-\($0) \(text): 1" }.sorted())
            }
            #expect(try await items.held() == [])
        }
    }

    @Test("goes in a later transaction if the messages are large")
    func large() async throws {
        try await withItems { items in
            for number in 0..<3 {
                try await items.register("phone-\(number)")
                let text = String(repeating: "\(number)", count: 3 << 20)
                try await items.subscribe("phone-\(number)", try Self.triggered(text: text))
            }
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.release(at: dawn, turnsMax: 1) == 2)
            #expect(try await items.release(at: dawn) == 1)
        }
    }

    @Test("vanishes with an expired subscription, and shuts no window")
    func expired() async throws {
        try await withItems { items in
            try await items.register("phone")
            var short = try Self.triggered()
            short.expiresAt = after(1)
            try await items.subscribe("phone", short)
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.held().count == 1)
            #expect(try await items.release(at: after(1)) == 0)
            #expect(try await items.held() == [])
            #expect(try await items.world.number("SELECT count(*) FROM device_windows WHERE opens_at > 'epoch'") == 0)
            #expect(try await items.cut() == [])
        }
    }

    @Test("vanishes for a retired token and a disabled app unless a trigger made it", arguments: [true, false])
    func dropped(isRetired: Bool) async throws {
        try await withItems { items in
            try await items.register("phone")
            let fired = try await items.subscribe("phone", try Self.triggered())
            try await items.subscribe("phone", try ItemWorld.terms(["bund"], text: "follower"))
            try await items.subscribe("phone", try Self.triggered("opener", text: "opener"))
            try await items.update("opener", #"{"last_price": 1}"#)
            #expect(try await items.release(at: dawn) == 1)
            for item in ["anduct", "bund"] { try await items.update(item, #"{"last_price": 1}"#) }
            try await items.follow(at: after(1))
            #expect(try await items.held().count == 2)
            if isRetired { try await items.retire("phone") } else { try await items.change(at: after(1), Self.off) }
            #expect(try await items.release(at: after(30)) == 0)
            #expect(try await items.held().map(\.subscription) == [fired.id])
            #expect(try await items.cut() == ["phone opener: 1"])
        }
    }

    @Test("waits if a trigger made it while its app is switched off, and goes at once when it is on")
    func switchedOff() async throws {
        try await withItems { items in
            try await items.register("phone")
            for text in ["a", "b"] { try await items.subscribe("phone", try Self.triggered(text: text).pausing(0)) }
            try await items.update("anduct", #"{"last_price": 1}"#)
            try await items.change(at: dawn, Self.off)
            #expect(try await items.release(at: dawn) == 0)
            try await items.change(at: after(60), Self.on)
            #expect(try await items.release(at: after(60)) == 2)
            #expect(try await items.cut() == ["phone a: 1", "phone b: 1"])
        }
    }

    @Test("goes at once also if a release puts it off while its app is switched on")
    func switchedOnMeanwhile() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try Self.triggered())
            try await items.update("anduct", #"{"last_price": 1}"#)
            try await items.change(at: dawn, Self.off)
            let pool = items.world.pool
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let (release, change) = try await pool.transaction {
                transaction throws(PostgresError) -> (Task<Int, any Error>, Task<Void, any Error>) in
                _ = try await transaction.run(query("LOCK TABLE held_pushes IN SHARE MODE"))
                let release = Task { try await items.release(at: dawn) }
                while try await pool.number(waiting) < 1 { await Task.yield() }
                // The release waits for the test, and the change for the release.
                let change = Task { try await items.change(at: after(1), Self.on) }
                while try await pool.number(waiting) < 2 { await Task.yield() }
                return (release, change)
            }
            #expect(try await release.value == 0)
            try await change.value
            #expect(try await items.release(at: after(1)) == 1)
        }
    }

    @Test("waits up to a day for another token if a trigger made it, an hour at a time")
    func retired() async throws {
        try await withItems { items in
            for phone in ["revived", "dead"] {
                try await items.register(phone)
                try await items.subscribe(phone, try Self.triggered())
            }
            try await items.update("anduct", #"{"last_price": 1}"#)
            for phone in ["revived", "dead"] { try await items.retire(phone) }
            #expect(try await items.release(at: dawn) == 0)
            try await items.register("revived", at: after(60))
            #expect(try await items.release(at: after(3_599)) == 0)
            #expect(try await items.release(at: after(3_600)) == 1)
            #expect(try await items.cut() == ["revived trigger: 1"])
            #expect(try await items.release(at: after(86_399)) == 0)
            #expect(try await items.held().count == 1)
            #expect(try await items.release(at: after(86_400)) == 0)
            #expect(try await items.held() == [])
        }
    }

    @Test("goes in the form that its subscription has by then, with texts for its fields by then")
    func modified() async throws {
        try await withItems { items in
            try await items.register("phone")
            let subscription = try await items.subscribe("phone", try Self.triggered())
            try await items.update("anduct", #"{"last_price": 1, "bid": 2}"#)
            let terms = try ItemWorld.terms(
                ["anduct"], fields: ["bid", "last_price"], trigger: "Double.parseDouble(${bid}) > 9", text: "new")
            let phone = try await items.device("phone")
            _ = try await items.stores.subscriptions.modify(
                subscription.key, of: phone, from: 1, to: terms, rearms: true, now: dawn)
            #expect(try await items.release(at: dawn) == 1)
            #expect(try await items.cut() == ["phone new: -, 1"])
            #expect(try await items.triggered() == [])
        }
    }

    @Test("ends with its subscription")
    func removed() async throws {
        try await withItems { items in
            try await items.register("phone", user: "ann")
            let phone = try await items.device("phone")
            let kept = try await items.subscribe("phone", try Self.triggered())
            let removed = try await items.subscribe("phone", try Self.triggered())
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.stores.subscriptions.remove(removed.key, of: phone, now: dawn))
            #expect(try await items.held().map(\.subscription) == [kept.id])
            try await items.register("phone", user: "bob")
            #expect(try await items.held() == [])
            #expect(try await items.release(at: after(99)) == 0)
        }
    }

    @Test("shuts no window and holds up no other if no message can be made for it")
    func unsendable() async throws {
        try await withItems { items in
            try await items.register("phone")
            for field in ["bad", "good"] {
                let terms = try ItemWorld.terms(
                    ["anduct"], fields: [field], trigger: #"${\#(field)}.equals("x") || !${\#(field)}.equals("x")"#,
                    text: field)
                try await items.subscribe("phone", terms)
            }
            try await items.update("anduct", #"{"bad": "none", "good": "fine"}"#)
            #expect(try await items.held().count == 2)
            #expect(try await items.release(at: dawn) == 1)
            #expect(try await items.cut() == ["phone good: fine"])
            #expect(try await items.held() == [])
        }
    }

    @Test("leaves where it is cut if its lane has room, with its badge")
    func leased() async throws {
        try await withItems { items in
            try await items.register("phone")
            try await items.subscribe("phone", try Self.triggered())
            try await items.update("anduct", #"{"last_price": 1}"#)
            let written = try await items.releaseLeasing(at: dawn)
            #expect(written.ready == [])
            #expect(written.leases.flatMap(\.parcels).map(\.members.count) == [1])
            #expect(try await items.world.number("SELECT max(badge) FROM registration_pulse") == 1)
        }
    }

    @Test("says when it falls due, as an item does")
    func nextDue() async throws {
        try await withItems { items in
            try await items.register("phone")
            let pushes = items.stores.pushes
            #expect(try await pushes.nextDue() == nil)
            try await items.subscribe("phone", try ItemWorld.terms(["anduct"]))
            try await items.update("anduct", #"{"last_price": 1}"#)
            try await items.world.pool.script("UPDATE item_due SET due_at = now() + interval '1 hour'")
            let wait = try #require(try await pushes.nextDue())
            #expect(wait > .seconds(3_500) && wait <= .seconds(3_600))
            try await items.subscribe("phone", try Self.triggered())
            try await items.update("anduct", #"{"last_price": 1}"#)
            try await items.world.pool.script("UPDATE held_pushes SET due_at = now() - interval '1 hour'")
            #expect(try await pushes.nextDue() == .zero)
        }
    }
}
