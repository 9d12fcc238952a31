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
            try await world.notifyAll()
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
            try await world.notifyAll()
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

    @Test(
        "fires what a walk of updates satisfies once, though one of two gateways is killed in it",
        arguments: Step.allCases.filter(\.isOfUpdates))
    func walk(step: Step) async throws {
        let walk = PriceWalk(devices: Self.devices, seed: UInt64(step.rawValue))
        try await World.within(devices: Self.devices) { world in
            let first = try await world.gateway(Fault(step: step, time: 3))
            try await world.prepare(through: first)
            for threshold in walk.thresholds { try await world.subscribe(threshold, through: first) }
            let second = try await world.gateway()
            async let ones = world.send(walk.everySecond(from: 0), through: first, thenThrough: second)
            async let others = world.send(walk.everySecond(from: 1), through: second, thenThrough: second)
            _ = try await (ones, others)
            #expect(try await first.child.end() == .killed(signal: SIGKILL), "the first gateway was killed")
            try await world.settleAll()
            try await second.stopGently()

            let satisfied = walk.satisfied
            #expect(satisfied.count > 20 && satisfied.count < walk.thresholds.count - 20, "\(step)")
            let pushes = Dictionary(grouping: try world.pushes()) { "\($0.token) \($0.value ?? "nothing")" }
            #expect(pushes.keys.sorted() == satisfied.map(\.push).sorted())
            let ids = pushes.values.map { Set($0.map(\.id)).count }
            #expect(ids.allSatisfy { $0 == 1 }, "a push that is sent again is the same push")
            let triggered = "SELECT count(*) FROM item_subscriptions WHERE status = 2"
            #expect(try await world.pool.number(triggered) == satisfied.count)
            #expect(try await world.pool.number("SELECT sum(badge)::int8 FROM registration_pulse") == satisfied.count)
        }
    }
}

/// A random walk of a price, and thresholds of which it satisfies some, in whatever order the prices come.
private struct PriceWalk {
    struct Threshold {
        let device: Device
        let trigger: String
        /// The text that its push carries.
        let text: String
        let isSatisfied: Bool

        var push: String { "\(device.token) \(text)" }
    }

    private let prices: [Int]
    let thresholds: [Threshold]

    var satisfied: [Threshold] { thresholds.filter(\.isSatisfied) }

    init(devices: [Device], seed: UInt64) {
        var random = SeededGenerator(seed: seed)
        var price = 100
        let prices = (0..<80).map { _ in
            price += Int.random(in: -3...3, using: &random)
            return price
        }
        thresholds = devices.enumerated().flatMap { number, device in
            let (above, below, equal) = (98 + 2 * number, 102 - 2 * number, 88 + number)
            return [
                Threshold(
                    device: device, trigger: "Double.parseDouble(${last_price}) > \(above).5", text: "above \(above)",
                    isSatisfied: prices.contains { $0 > above }),
                Threshold(
                    device: device, trigger: "Integer.parseInt(${last_price}) <= \(below)", text: "below \(below)",
                    isSatisfied: prices.contains { $0 <= below }),
                Threshold(
                    device: device, trigger: "Double.parseDouble(${last_price}) == \(equal)", text: "equal \(equal)",
                    isSatisfied: prices.contains(equal)),
            ]
        }
        self.prices = prices
    }

    /// Every second price, with an idempotency key.
    /// - Parameter start: 0 or 1.
    func everySecond(from start: Int) -> [(key: String, price: Int)] {
        stride(from: start, to: prices.count, by: 2).map { (key: "price-\($0)", price: prices[$0]) }
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

    /// Activates a threshold whose push waits for no other.
    fileprivate func subscribe(_ threshold: PriceWalk.Threshold, through gateway: Gateway) async throws {
        _ = try await gateway.caller.expect(
            201, "POST", "/v1/apps/\(Self.app)/devices/\(threshold.device.installation)/subscriptions",
            """
            {"items": ["anduct"], "fields": ["last_price"], "trigger": "\(threshold.trigger)", "badge": "AUTO",
             "notification": {"body": "\(Self.text)"}, "data": {"d": "\(threshold.text)"}, "pause_seconds": 0}
            """)
    }

    /// Sends prices one after the other. A gateway that has another one behind it is killed in the middle, unless it
    /// was before. What it did not answer is sent again through the other one, as a backend does.
    fileprivate func send(
        _ prices: [(key: String, price: Int)], through gateway: Gateway, thenThrough next: Gateway
    ) async throws {
        let path = "/v1/apps/\(Self.app)/items/anduct/updates"
        for (number, update) in prices.enumerated() {
            if number == prices.count / 2, gateway.child.processID != next.child.processID {
                gateway.child.kill(SIGKILL)
            }
            let body = #"{"last_price": \#(update.price)}"#
            let reply = try? await gateway.caller.call("POST", path, body, idempotencyKey: update.key)
            if reply?.status == 204 { continue }
            try await eventually("the update to be taken") {
                try await next.caller.call("POST", path, body, idempotencyKey: update.key).status == 204
            }
        }
    }

    fileprivate func notifyAll() async throws {
        try await eventually("every device to get a push") { try self.pushes().count >= self.devices.count }
        try await settleAll()
    }

    fileprivate func settleAll() async throws {
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
