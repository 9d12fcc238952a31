import Foundation
import Model
import TestSupport
import Testing

@Suite("A gateway that is killed by SIGKILL while it takes an update of an item", .onDatabaseServer())
struct KilledUpdateTests {
    private static let devices = Device.some(live: 24, dead: 0, bad: 0)
    private static let app = "/v1/apps/\(World.app)"
    private static let updates = app + "/items/anduct/updates"
    private static let update = #"{"last_price": 2.84}"#

    @Test(
        "fires each trigger once, and sends its push once, wherever it is killed",
        arguments: Step.allCases.filter(\.isOfUpdates))
    func triggers(step: Step) async throws {
        try await World.within(devices: Self.devices) { world in
            let first = try await world.gateway(Fault(step: step))
            try await world.subscribeAll(through: first, #", "trigger": "Double.parseDouble(${last_price}) > 2.5""#)
            _ = try? await first.caller.call("POST", Self.updates, Self.update)
            #expect(try await first.child.end() == .killed(signal: SIGKILL), "the fault killed the gateway")

            let second = try await world.gateway()
            // The first answer was lost, so the backend sends the update once more.
            _ = try await second.caller.expect(204, "POST", Self.updates, Self.update)
            try await world.tellAll()
            try await second.stopGently()
            try await world.expectOnePushEach()
            let triggered = "SELECT count(*) FROM item_subscriptions WHERE status = 2"
            #expect(try await world.pool.number(triggered) == Self.devices.count)
        }
    }

    @Test("notifies each follower once, wherever it is killed", arguments: Step.allCases.filter(\.isOfUpdates))
    func followers(step: Step) async throws {
        try await World.within(devices: Self.devices) { world in
            let first = try await world.gateway(Fault(step: step))
            try await world.subscribeAll(through: first)
            _ = try? await first.caller.call("POST", Self.updates, Self.update, idempotencyKey: "the-update")
            #expect(try await first.child.end() == .killed(signal: SIGKILL), "the fault killed the gateway")

            let second = try await world.gateway()
            // Without the key, it would be a second update, which makes a second push.
            _ = try await second.caller.expect(204, "POST", Self.updates, Self.update, idempotencyKey: "the-update")
            try await world.tellAll()
            try await second.stopGently()
            try await world.expectOnePushEach()
            #expect(try await world.pool.number("SELECT seq FROM items") == 1)
        }
    }

    @Test(
        "takes each line of a producer's stream once if the producer repeats the stream",
        arguments: [Step.updateWritten, .updateCommitted])
    func stream(step: Step) async throws {
        let lines = (1...3).map { #"{"line": \#($0), "item": "anduct", "fields": {"last_price": \#($0)}}"# }
        let body = lines.joined(separator: "\n") + "\n"
        let path = Self.app + "/updates?producer=exchange"
        try await World.within(devices: Self.devices) { world in
            let first = try await world.gateway(Fault(step: step))
            try await world.prepare(through: first)
            _ = try? await first.caller.call("POST", path, body, contentType: "application/x-ndjson")
            #expect(try await first.child.end() == .killed(signal: SIGKILL), "the fault killed the gateway")

            let second = try await world.gateway()
            let reply = try await second.caller.expect(200, "POST", path, body, contentType: "application/x-ndjson")
            #expect(reply.text.contains(#""through":3"#))
            try await second.stopGently()
            #expect(try await world.pool.number("SELECT seq FROM items") == 3)
            #expect(try await world.pool.number("SELECT last_line FROM update_producers") == 3)
        }
    }
}

extension Step {
    fileprivate var isOfUpdates: Bool { work == .itemUpdate }
}

extension World {
    fileprivate func prepare(through gateway: Gateway) async throws {
        try await fill(through: gateway)
        _ = try await gateway.caller.expect(
            200, "PATCH", "/v1/apps/\(Self.app)", #"{"triggers": {"enabled": true, "allow": [".*"]}}"#)
    }

    /// Subscribes each device to an item that has no update. A push carries the price.
    /// - Parameter members: further members of the request.
    fileprivate func subscribeAll(through gateway: Gateway, _ members: String = "") async throws {
        try await prepare(through: gateway)
        for device in devices {
            _ = try await gateway.caller.expect(
                201, "POST", "/v1/apps/\(Self.app)/devices/\(device.installation)/subscriptions",
                """
                {"items": ["anduct"], "fields": ["last_price"], "notification": {"body": "\(Self.text)"},
                 "badge": "AUTO", "data": {"d": "${last_price}"}\(members)}
                """)
        }
    }

    fileprivate func tellAll() async throws {
        try await eventually("every device to get a push") { try self.pushes().count >= self.devices.count }
        try await eventually("the pushes to be accounted for") {
            let left = """
                SELECT (SELECT count(*) FROM item_due) + (SELECT count(*) FROM held_pushes)
                    + (SELECT count(*) FROM parcels)
                """
            return try await self.pool.number(left) == 0
        }
    }

    fileprivate func expectOnePushEach() async throws {
        let seen = try pushes().map { "\($0.token) \($0.value ?? "nothing") \($0.badge ?? 0)" }
        #expect(seen.sorted() == devices.map { "\($0.token) 2.84 1" }.sorted())
        #expect(try await pool.number("SELECT count(*) FROM registration_pulse WHERE badge <> 1") == 0)
    }
}
