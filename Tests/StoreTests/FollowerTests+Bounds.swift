import Basis
import Model
import Postgres
import Store
import Testing
import TriggerRules
import TriggerStore

private let dawn = StoreWorld.dawn

private func after(_ seconds: Double) -> WallInstant { dawn + .seconds(seconds) }

// Rounds with large messages, failing apps and full devices.
extension FollowerTests {
    @Test("get their pushes in several transactions if the messages are large")
    func largeMessages() async throws {
        try await withItems { items in
            for number in 0..<3 {
                try await items.register("phone-\(number)")
                let text = String(repeating: "\(number)", count: 3 << 20)
                try await items.subscribe("phone-\(number)", try Self.price(text))
            }
            try await items.update("anduct", #"{"last_price": 1}"#)
            #expect(try await items.follow(at: after(1)) == [2, 1])
            #expect(try await items.number(of: "messages") == 3)
            #expect(try await items.number(of: "item_due") == 0)
        }
    }

    @Test("get their pushes while each transaction for another app fails")
    func failingNeighbour() async throws {
        try await withItems { items in
            let neighbour = try await items.world.neighbour().app
            let enabled = "UPDATE apps SET settings = settings || '{\"triggers\": {\"enabled\": true}}'"
            try await items.world.pool.script(enabled)
            for app in [items.world.app, neighbour] {
                try await items.register("phone-\(app.value)", app: app)
                try await items.subscribe("phone-\(app.value)", try Self.price(), app: app)
                try await items.update("anduct", #"{"last_price": 1}"#, app: app)
            }
            try await items.world.pool.script(
                "ALTER TABLE messages ADD CHECK (app_id <> \(items.world.app.value))")
            await #expect(throws: StoreFault.self) { try await items.follow(at: after(1)) }
            #expect(try await items.follow(at: after(1), turnsMax: 1) == [1])
            #expect(try await items.cut() == ["phone-\(neighbour.value) price: 1"])
        }
    }

    @Test("wait, all of a device, for the push that the device holds and that falls due first")
    func behindFirstDue() async throws {
        try await withItems { items in
            let trigger = try ItemWorld.terms(["t"], trigger: "${last_price}.equals(\"1\")")
            for phone in ["holder", "other"] {
                try await items.register(phone)
                for _ in 0..<2 { try await items.subscribe(phone, try Self.price().pausing(0)) }
            }
            for _ in 0..<2 { try await items.subscribe("holder", trigger) }
            try await items.update("t", #"{"last_price": 1}"#)
            let later = "UPDATE held_pushes SET due_at = due_at + interval '1 hour' WHERE subscription_id = "
            try await items.world.pool.script(later + "(SELECT min(subscription_id) FROM held_pushes)")
            try await items.update("anduct", #"{"last_price": 2}"#)
            #expect(try await items.follow(at: after(1)) == [2])
            #expect(try await items.cut() == ["other price: 2", "other price: 2"])
            #expect(try await items.held().count == 4)
        }
    }
}
