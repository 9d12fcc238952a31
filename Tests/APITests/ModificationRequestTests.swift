import Content
import JSON
import Model
import Requests
import Testing
import TriggerRules

@Suite("A request to modify a subscription")
struct ModificationRequestTests {
    private static let before = #"""
        {"items": ["i"], "fields": ["price", "name"], "trigger": "Double.parseDouble(${price}) > 100",
         "notification": {"title": "${name}"}, "sound": "bell", "data": {"a": "$[1]"}, "pause_seconds": 5,
         "when_paused": "drop", "expires_at": "2027-01-01T00:00:00Z"}
        """#

    private static func terms(_ text: String = before) throws -> SubscriptionTerms {
        try ActivationRequestTests.read(text).terms
    }

    private static func modify(
        _ text: String, _ terms: SubscriptionTerms? = nil
    ) throws -> ModificationRequest {
        try ModificationRequest.read(Array(text.utf8), of: try terms ?? Self.terms(), now: noon)
    }

    @Test("moves a threshold, and arms the subscription again")
    func threshold() throws {
        let request = try Self.modify(#"{"trigger": "Double.parseDouble(${price}) > 120"}"#)
        var expected = try Self.terms()
        #expect(request.terms.trigger?.thresholds.first?.bound == 120 && request.rearms)
        expected.trigger = request.terms.trigger
        #expect(request.terms == expected && request.content == nil)
    }

    @Test("changes one member of the pushes, and leaves the subscription triggered")
    func push() throws {
        let request = try Self.modify(#"{"sound": null, "badge": "AUTO", "notification": {"body": "$[2]"}}"#)
        #expect(!request.rearms)
        #expect(
            String(decoding: request.terms.template.given, as: UTF8.self)
                == #"{"notification":{"body":"$[2]"},"badge":"AUTO","data":{"a":"$[1]"}}"#)
        let content = try #require(request.content)
        #expect(content.notification == NotificationText(body: "$[2]") && content.badge == .increment)
        #expect(content.sound == nil && content.data.count == 1)
        #expect(request.terms.template.content == StoredContent.encode(content))
        let before = try Self.terms()
        #expect(request.terms.trigger == before.trigger)
    }

    @Test("removes with null what an activation may leave out")
    func nulls() throws {
        let request = try Self.modify(
            #"""
            {"trigger": null, "pause_seconds": null, "when_paused": null, "expires_at": null, "mode": null,
             "notification": null, "sound": null, "data": null}
            """#)
        let terms = request.terms
        #expect(request.rearms && terms.trigger == nil && terms.pauseSeconds == nil && terms.expiresAt == nil)
        #expect(terms.whenPaused == .newest && terms.mode == .merge && terms.template.given == Array("{}".utf8))
        #expect(request.content?.options.pushType == .background)
    }

    @Test("changes nothing and arms nothing without members")
    func nothing() throws {
        let request = try Self.modify("{}")
        let before = try Self.terms()
        #expect(request.terms == before && !request.rearms && request.content == nil)
    }

    @Test(
        "arms the subscription again if it names trigger, items or fields, changed or not",
        arguments: [
            (#"{"trigger": "Double.parseDouble(${price}) > 100"}"#, true), (#"{"items": ["i"]}"#, true),
            (#"{"fields": ["price", "name"]}"#, true), (#"{"mode": "DISTINCT"}"#, false),
            (#"{"pause_seconds": 60}"#, false), (#"{"expires_at": null}"#, false), (#"{"data": {}}"#, false),
        ])
    func rearms(body: String, rearms: Bool) throws {
        let request = try Self.modify(body)
        #expect(request.rearms == rearms && request.terms.trigger?.thresholds.first?.bound == 100)
    }

    @Test("gives positions the meaning that the new fields have")
    func positions() throws {
        let activated = try Self.terms(
            #"{"items": ["i"], "fields": ["a", "b"], "trigger": "Integer.parseInt($[2]) < 0"}"#)
        let request = try Self.modify(#"{"fields": ["b", "c"]}"#, activated)
        #expect(request.terms.trigger?.thresholds.first?.field == "c" && request.content != nil)
    }

    @Test(
        "fails if the new fields lack one that a text or the trigger has from before",
        arguments: [
            Refusal(#"{"fields": ["price"]}"#, .fieldNotSubscribed, "/fields"),
            Refusal(#"{"fields": ["name"]}"#, .fieldNotSubscribed, "/fields"),
            Refusal(
                #"{"fields": ["name"], "trigger": "Double.parseDouble(${price}) > 1"}"#, .fieldNotSubscribed,
                "/trigger"),
            Refusal(
                #"{"fields": ["price"], "notification": {"title": "${name}"}}"#, .fieldNotSubscribed,
                "/notification/title"),
        ])
    func fieldsAlone(refusal: Refusal) throws {
        let terms = try Self.terms()
        refusal.check { (bytes) throws(Problem) in try ModificationRequest.read(bytes, of: terms, now: noon) }
    }

    @Test(
        "fails with a problem code and a pointer to the wrong member",
        arguments: [
            Refusal("", .malformedJSON), Refusal("[]", .wrongType, ""),
            Refusal(#"{"items": null}"#, .missingMember, "/items"),
            Refusal(#"{"fields": null}"#, .missingMember, "/fields"),
            Refusal(#"{"mode": "RAW"}"#, .modeNotSupported, "/mode"),
            Refusal(#"{"selector": "a"}"#, .modeNotSupported, "/selector"),
            Refusal(#"{"trigger": "${price}"}"#, .invalidTrigger, "/trigger"),
            Refusal(#"{"data": {"a": "${x"}}"#, .invalidTemplate, "/data/a"),
            Refusal(#"{"data": {"a": "${x}"}}"#, .fieldNotSubscribed, "/data/a"),
            Refusal(#"{"expires_at": "2026-12-01T11:00:00Z"}"#, .invalidValue, "/expires_at"),
            Refusal(#"{"coalescing": true}"#, .unknownMember, "/coalescing"),
            Refusal(#"{"device": {}}"#, .unknownMember, "/device"), Refusal(#"{"key": "a"}"#, .unknownMember, "/key"),
            Refusal(#"{"hms": {}}"#, .notSupported, "/hms"),
            Refusal(#"{"notification": null, "fcm": {"notification": {}}}"#, .notForBackground, "/fcm/notification"),
        ])
    func refused(refusal: Refusal) throws {
        let terms = try Self.terms()
        refusal.check { (bytes) throws(Problem) in try ModificationRequest.read(bytes, of: terms, now: noon) }
    }
}
