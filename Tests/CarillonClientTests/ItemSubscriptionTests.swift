import CarillonClient
import Foundation
import Testing

@Suite("A client's subscriptions to items")
struct ItemSubscriptionTests {
    /// The first subscription of the described service.
    private static var quotes: ItemSubscription.Terms {
        var terms = ItemSubscription.Terms(items: ["anduct"], fields: ["stock_name", "last_price"])
        terms.notification = ["body": "Stock ${stock_name} is now ${last_price}"]
        (terms.sound, terms.badge, terms.category) = ("Default", .automatic, "STOCK_PRICE_CATEGORY")
        terms.data = ["item": "anduct"]
        return terms
    }

    private static func trigger(_ bound: String) -> String { "Double.parseDouble(${last_price}) > \(bound)" }

    private func activated(
        _ key: String, _ app: AppOnPhone, status: String = "active"
    ) async throws -> ItemSubscription {
        app.answer(201, reported(key, status: status))
        return try await app.client.activate(Self.quotes)
    }

    @Test("send what the app gives, and may register the device in the same call")
    func activate() async throws {
        let app = AppOnPhone()
        app.answer(201, reported("1", [("trigger", .string(Self.trigger("100.0")))]))
        var terms = Self.quotes
        terms.trigger = Self.trigger("100.0")
        (terms.timeToLive, terms.pause, terms.whenPaused) = (.seconds(300), .seconds(0), .drop)
        let subscription = try await app.client.activate(
            terms, registering: AppOnPhone.registration, idempotencyKey: "start-1")
        #expect(app.lastCall == "POST /subscriptions")
        let device: JSON = [
            "provider": "apns", "token": "0aff10", "environment": "sandbox", "topic": "com.example.stocks",
        ]
        let body: JSON = [
            "items": ["anduct"], "fields": ["stock_name", "last_price"], "mode": "MERGE",
            "trigger": "Double.parseDouble(${last_price}) > 100.0",
            "notification": ["body": "Stock ${stock_name} is now ${last_price}"], "sound": "Default", "badge": "AUTO",
            "category": "STOCK_PRICE_CATEGORY", "data": ["item": "anduct"], "time_to_live": 300, "pause_seconds": 0,
            "when_paused": "drop", "device": device,
        ]
        #expect(app.lastBody == body)
        #expect(app.transport.requests.last?.headers["Idempotency-Key"] == "start-1")
        #expect(subscription.key == "1" && subscription.status == .active && !subscription.isDeactivated)
        #expect(subscription.terms.trigger == Self.trigger("100.0"))
        #expect(subscription.createdAt == Date(timeIntervalSince1970: 1_796_126_400))
    }

    /// "the activateMPN/activateMpn call will return the previous instance, and not a new (duplicated) one".
    @Test("return the instance that is there if an activation coalesces")
    func coalescing() async throws {
        let app = AppOnPhone()
        let first = try await activated("1", app, status: "triggered")
        app.answer(200, reported("1", [("sound", "bell.caf")]))
        let second = try await app.client.activate(Self.quotes, coalescing: true)
        #expect(app.lastBody?.object?["coalescing"] == true)
        #expect(second === first && first.status == .active && first.terms.sound == "bell.caf")
        let other = try await activated("2", app)
        #expect(other !== first)
        #expect(app.client.cachedSubscriptions.map(\.key) == ["1", "2"])
        #expect(app.client.cachedSubscription(key: "2") === other)
    }

    @Test("come page by page, as the instances that activations returned")
    func inquire() async throws {
        let app = AppOnPhone()
        let known = try await activated("2", app)
        app.answer(200, ["items": [reported("1")], "next": "1"])
        app.answer(200, ["items": [reported("2", status: "triggered")], "next": .null])
        let found = try await app.client.inquire()
        #expect(app.lastCall == "GET /subscriptions?limit=1000&cursor=1")
        #expect(found.map(\.key) == ["1", "2"])
        #expect(found[1] === known && known.status == .triggered)
        #expect(app.client.cachedSubscriptions.map(\.key) == ["1", "2"])
    }

    @Test("leave the cache if an inquiry of all has them no more, and hide if one by status has not")
    func missing() async throws {
        let app = AppOnPhone()
        let (first, second) = (try await activated("1", app), try await activated("2", app))
        app.answer(200, ["items": [reported("2")], "next": .null])
        #expect(try await app.client.inquire(.active).map(\.key) == ["2"])
        #expect(app.lastCall == "GET /subscriptions?limit=1000&status=active")
        #expect(app.client.cachedSubscriptions.map(\.key) == ["2"])
        #expect(!first.isDeactivated, "it may have been triggered")

        app.answer(200, reported("1", status: "triggered"))
        #expect(try await app.client.inquire(key: "1") === first)
        #expect(first.status == .triggered && app.client.cachedSubscriptions.count == 2)

        app.answer(200, ["items": [reported("1", status: "triggered")], "next": .null])
        #expect(try await app.client.inquire().count == 1)
        #expect(second.isDeactivated && app.client.cachedSubscriptions.map(\.key) == ["1"])
    }

    @Test("leave the cache if an inquiry by key finds none")
    func inquireKey() async throws {
        let app = AppOnPhone()
        let subscription = try await activated("1", app)
        app.refuse(404, "unknown_subscription")
        #expect(try await app.client.inquire(key: "1") == nil)
        #expect(app.lastCall == "GET /subscriptions/1")
        #expect(subscription.isDeactivated && app.client.cachedSubscriptions.isEmpty)
    }

    /// "when changing a threshold, the app uses a modification with an updated trigger".
    @Test("send a modification's changed members, and null for those that are removed")
    func modify() async throws {
        let app = AppOnPhone()
        app.answer(
            201,
            reported(
                "1", status: "triggered",
                [("trigger", .string(Self.trigger("100.0"))), ("badge", "1"), ("sound", "Default")]))
        let threshold = try await app.client.activate(Self.quotes)
        var terms = threshold.terms
        #expect(terms.badge == .number(1))
        terms.trigger = Self.trigger("120.0")
        terms.sound = nil
        app.answer(200, reported("1", [("trigger", .string(Self.trigger("120.0"))), ("badge", "1")]))
        try await app.client.modify(threshold, to: terms)
        #expect(app.lastCall == "PATCH /subscriptions/1")
        #expect(app.lastBody == ["trigger": .string(Self.trigger("120.0")), "sound": .null])
        #expect(threshold.status == .active && threshold.terms == terms)
    }

    @Test("stay as they were if the gateway refuses a modification")
    func refusedModification() async throws {
        let app = AppOnPhone()
        let subscription = try await activated("1", app)
        let before = subscription.terms
        var terms = before
        terms.trigger = "System.exit(1)"
        app.refuse(403, "trigger_not_allowed")
        let refused = await fault { try await app.client.modify(subscription, to: terms) }
        #expect(refused?.problem?.code == .triggerNotAllowed && subscription.terms == before)
    }

    @Test("become active again when they are reactivated")
    func reactivate() async throws {
        let app = AppOnPhone()
        let subscription = try await activated("1", app, status: "triggered")
        app.answer(200, reported("1"))
        try await app.client.reactivate(subscription)
        #expect(app.lastCall == "POST /subscriptions/1/reactivate" && app.lastBody == nil)
        #expect(subscription.status == .active)
    }

    @Test("end one by one, all that have a status, or all")
    func deactivate() async throws {
        let app = AppOnPhone()
        let first = try await activated("1", app)
        let second = try await activated("2", app, status: "triggered")
        let (third, fourth) = (try await activated("3", app), try await activated("4", app))
        app.answer(204)
        try await app.client.deactivate(first)
        #expect(app.lastCall == "DELETE /subscriptions/1" && first.isDeactivated)
        app.refuse(404, "unknown_subscription")
        try await app.client.deactivate(third)
        app.answer(204)
        try await app.client.deactivateAll(.triggered)
        #expect(app.lastCall == "DELETE /subscriptions?status=triggered")
        #expect(second.isDeactivated && !fourth.isDeactivated)
        #expect(app.client.cachedSubscriptions.map(\.key) == ["4"])
        app.answer(204)
        try await app.client.deactivateAll()
        #expect(app.lastCall == "DELETE /subscriptions" && fourth.isDeactivated)
        #expect(app.client.cachedSubscriptions.isEmpty)
    }

    /// "In this situation, an inquire request may end with an error reporting "device unknown". This is normal".
    @Test("leave the cache when the gateway knows the device no more")
    func unknownDevice() async throws {
        let app = AppOnPhone()
        let subscription = try await activated("1", app)
        app.refuse(404, "unknown_device")
        let refused = await fault { _ = try await app.client.inquire() }
        #expect(refused?.problem?.code == .unknownDevice)
        #expect(subscription.isDeactivated && app.client.cachedSubscriptions.isEmpty)
    }

    @Test("do not come back by an inquiry that read them before they were deactivated")
    func overlappingInquiry() async throws {
        let app = AppOnPhone()
        let subscription = try await activated("1", app)
        let client = app.client
        app.transport.add { _ in
            try await client.deactivate(subscription)
            return GatewayResponse(
                status: 200, body: Array(JSON.object(["items": [reported("1")], "next": .null]).serialized.utf8))
        }
        app.answer(204)
        app.answer(200, ["items": [], "next": .null])
        #expect(try await client.inquire().isEmpty)
        #expect(app.transport.requests.map(\.method) == ["POST", "GET", "DELETE", "GET"])
        #expect(client.cachedSubscriptions.isEmpty)
    }

    @Test("do not come back by the late answer to a modification")
    func lateModification() async throws {
        let app = AppOnPhone()
        let subscription = try await activated("1", app)
        let client = app.client
        app.transport.add { _ in
            try await client.deactivateAll()
            return GatewayResponse(status: 200, body: Array(reported("1").serialized.utf8))
        }
        app.answer(204)
        try await client.modify(subscription, to: subscription.terms)
        #expect(subscription.isDeactivated && client.cachedSubscriptions.isEmpty)
    }
}
