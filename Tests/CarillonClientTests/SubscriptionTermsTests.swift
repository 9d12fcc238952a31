import CarillonClient
import Foundation
import Testing

@Suite("The terms of a subscription in an answer of the gateway")
struct SubscriptionTermsTests {
    private func terms(_ members: [(name: String, value: JSON)]) async throws -> ItemSubscription.Terms {
        let app = AppOnPhone()
        app.answer(200, reported("1", members))
        return try #require(try await app.client.inquire(key: "1")).terms
    }

    @Test("have numbers and booleans that were given as texts")
    func texts() async throws {
        let terms = try await terms([
            ("badge", "3"), ("delay_while_idle", "false"), ("time_to_live", "300"), ("pause_seconds", 0),
        ])
        #expect(terms.badge == .number(3) && terms.delaysWhileIdle == false)
        #expect(terms.timeToLive == .seconds(300) && terms.pause == .seconds(0))
        #expect(try await self.terms([("badge", "AUTO")]).badge == .automatic)
        #expect(try await self.terms([]).badge == nil)
    }

    @Test("have objects and texts as they were given, and words that this version does not know")
    func objects() async throws {
        let terms = try await terms([
            ("mode", "SOMETIMES"), ("when_paused", "drop"), ("collapse_key", "Stock update"), ("thread", "stocks"),
            ("fcm", ["android": ["priority": "HIGH"]]), ("apns", ["headers": [:]]), ("new_member", [1, 2]),
        ])
        #expect(terms.mode == ItemSubscription.Mode(rawValue: "SOMETIMES") && terms.whenPaused == .drop)
        #expect(terms.collapseKey == "Stock update" && terms.thread == "stocks" && terms.notification == nil)
        #expect(
            terms.overrides == [
                DeviceRegistration.Provider.fcm: ["android": ["priority": "HIGH"]],
                DeviceRegistration.Provider.apns: ["headers": [:]],
            ])
    }

    @Test(
        "have a time with three digits of its fraction at most",
        arguments: [
            ("2026-12-01T12:00:00Z", 1_796_126_400.0), ("2026-12-01T12:00:00.5Z", 1_796_126_400.5),
            ("2026-12-01T12:00:00.250999Z", 1_796_126_400.25), ("tomorrow", nil), ("2026-12-01T12:00:00", nil),
        ] as [(String, Double?)])
    func times(text: String, seconds: Double?) async throws {
        let end = try await terms([("expires_at", .string(text))]).expiresAt
        #expect(end?.timeIntervalSince1970 == seconds)
    }

    @Test("compare all texts by their bytes")
    func equality() {
        let terms = ItemSubscription.Terms(items: ["\u{e9}"], fields: ["price"])
        var other = terms
        #expect(other == terms)
        other.items = ["e\u{301}"]
        #expect(other != terms)
        other = terms
        other.expiresAt = Date(timeIntervalSince1970: 1_796_126_400)
        #expect(other != terms)
    }
}
