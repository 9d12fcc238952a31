import API
import Basis
import Calendar
import Content
import JSON
import Model
import QueueRules
import Reactor
import Store
import Testing

/// An app with a credential, two devices and a message to both.
private struct WaitingWorld: Sendable {
    let world: GatewayWorld
    let app: AppID
    let credential: CredentialID
    private static let path = "/v1/apps/tower"

    init(_ world: GatewayWorld) async throws {
        self.world = world
        try await world.makeApp()
        app = AppID(Int64(try await world.pool.number("SELECT id FROM apps")))
        for number in 1...2 {
            try await world.expect(
                201, "PUT", "\(Self.path)/devices/phone-\(number)", GatewayWorld.registration(number))
        }
        credential = try await world.stores.credentials.nextIDs(1)[0]
        let key = NewCredential(
            id: credential, app: app, provider: .apns, environment: .production, kind: .token, topics: [],
            facts: Array("{}".utf8), sealed: [1])
        _ = try await world.stores.credentials.insert([key], app: app, activate: true, once: nil) { _ in [] }
    }

    /// Sends a message to all devices, and plans it.
    func send(_ options: String = "", planned: Bool = true, more: String = "") async throws -> String {
        let body =
            #"{"audience": {"all": true}, "notification": {"body": "Noon"}, "options": {\#(options)}\#(more)}"#
        let reply = try await world.expect(202, "POST", Self.path + "/messages", body)
        if planned {
            _ = try await world.stores.messages.plan(
                idsMax: 100, parcelMembersMax: 100, knownFormats: StoredContent.knownFormats)
        }
        let (id, ids) = (try reply.member("id"), try reply.member("messages")?.array)
        return try #require((ids?.last ?? id)?.string)
    }

    func control(_ name: String, _ message: String) async throws {
        try await world.expect(200, "POST", "\(Self.path)/messages/\(message)/\(name)")
    }

    func path(of message: String) -> String { "\(Self.path)/messages/\(message)" }

    func waiting(_ message: String) async throws -> [JSONObject] {
        let progress = try await world.expect(200, "GET", "\(Self.path)/messages/\(message)").member("progress")
        return try #require(progress?.object?["waiting"]?.array).compactMap(\.object)
    }

    func report(_ cause: PushWait.Cause, _ reason: String) async throws -> String {
        let outage = LaneOutage(
            credential: credential, cause: cause, openFor: cause == .throttled ? .seconds(60) : nil, reason: reason,
            age: .seconds(5))
        try await world.stores.credentials.report(outages: [outage], of: ProcessID(UniversalID(high: 1, low: 1)))
        return try await send()
    }

    func changeParcels(_ change: String, of message: String) async throws -> String {
        try await world.pool.script("UPDATE parcels SET \(change)")
        return message
    }
}

/// A way to keep pushes, and what the account then says.
private struct Situation: Sendable, CustomTestStringConvertible {
    let name: String
    /// The member `for`.
    let cause: String
    /// nil: the whole message waits.
    let pushes: Int64?
    /// nil: nobody gave a reason.
    let reason: String?
    /// Brings the situation about, and returns the message.
    let arrange: @Sendable (WaitingWorld) async throws -> String

    init(
        _ name: String, _ cause: String, pushes: Int64? = 2, reason: String? = nil,
        _ arrange: @escaping @Sendable (WaitingWorld) async throws -> String
    ) {
        (self.name, self.cause, self.pushes, self.reason, self.arrange) = (name, cause, pushes, reason, arrange)
    }

    var testDescription: String { name }

    static let all: [Situation] = [
        Situation("a time to come", "hour", pushes: nil) { world in
            try await world.send(#""send_at": "\#(RFC3339.format(Clocks.wallNow() + .seconds(3_600)))""#)
        },
        Situation("a planner", "planning", pushes: nil) { try await $0.send(planned: false) },
        Situation("an audience that can't be read", "planning", pushes: nil) { world in
            let message = try await world.send(planned: false)
            try await world.world.pool.script("UPDATE message_contents SET audience = 'x'")
            _ = try await world.send()
            return message
        },
        Situation("the message before it", "predecessor", pushes: nil, reason: "its id") {
            try await $0.send(planned: false, more: #", "apns": [{}, {}]"#)
        },
        Situation("the message before it, which is later", "predecessor", pushes: nil, reason: "its id") { world in
            let hour = RFC3339.format(Clocks.wallNow() + .seconds(3_600))
            let second = try await world.send(#""send_at": "\#(hour)""#, planned: false, more: #", "apns": [{}, {}]"#)
            try await world.world.expect(200, "PATCH", world.path(of: second), #"{"send_at": null}"#)
            return second
        },
        Situation("a pause before planning", "resume", pushes: nil) { world in
            let message = try await world.send(planned: false)
            try await world.control("pause", message)
            return message
        },
        Situation("a pause", "resume") { world in
            let message = try await world.send()
            try await world.control("pause", message)
            return message
        },
        Situation("a cancellation", "cancellation") { world in
            let message = try await world.send()
            try await world.control("cancel", message)
            return message
        },
        Situation("no credential", "credential") { world in
            #expect(try await world.world.stores.credentials.retire([world.credential], app: world.app))
            return try await world.send()
        },
        Situation("a refused credential", "credential_refused", reason: "InvalidProviderToken") { world in
            try await world.world.stores.credentials.block(
                world.credential, reason: "InvalidProviderToken", for: .seconds(60))
            return try await world.send()
        },
        Situation("a credential that does not open", "credential_unusable", reason: "sealed with another key") {
            try await $0.report(.credentialUnusable, "sealed with another key")
        },
        Situation("an expired provider token", "token", reason: "ExpiredProviderToken") {
            try await $0.report(.token, "ExpiredProviderToken")
        },
        Situation("a deleted service account", "token", reason: "invalid_grant: account not found") {
            try await $0.report(.token, "invalid_grant: account not found")
        },
        Situation("a provider that nobody reaches", "unreachable", reason: "connection refused") {
            try await $0.report(.unreachable, "connection refused")
        },
        Situation("a throttling provider", "throttled", reason: "it answers most pushes with 429 or 503") {
            try await $0.report(.throttled, "it answers most pushes with 429 or 503")
        },
        Situation("a refused topic", "topic_refused", reason: "TopicDisallowed") {
            try await $0.report(.topicRefused, "TopicDisallowed")
        },
        Situation("registrations without a topic", "topic_missing") { try await $0.report(.topicMissing, "") },
        Situation("a newer program", "newer_program") { world in
            try await world.changeParcels("format = 9999", of: try await world.send())
        },
        Situation("the pause after an attempt", "later", reason: "provider_busy") { world in
            try await world.changeParcels(
                "waits_for = 'provider_busy', waits_since = now(), due_at = now() + interval '1 hour'",
                of: try await world.send())
        },
        Situation("the app's quiet hours", "later", reason: "quiet_hours") { world in
            try await world.changeParcels(
                "waits_for = 'quiet_hours', waits_since = now(), due_at = now() + interval '1 hour'",
                of: try await world.send())
        },
        Situation("a local time of each device", "later") { world in
            let hour = RFC3339.formatLocal(
                WallInstant(secondsSince1970: Clocks.wallNow().secondsSince1970) + .seconds(300))
            return try await world.send(#""device_local_time": true, "send_at": "\#(hour)""#)
        },
        Situation("the message's rate", "rate") { try await $0.send(#""rate_per_second": 1"#) },
        Situation("pushes before them", "turn") { try await $0.send() },
    ]
}

@Suite("The entry for what keeps a push")
struct ServedWaitTests {
    @Test(
        "has the cause, its start, the number of pushes, and the reason that the provider gave",
        arguments: Situation.all)
    fileprivate func entry(_ situation: Situation) async throws {
        try await withGateway { gateway in
            let world = try await WaitingWorld(gateway)
            let waiting = try await world.waiting(try await situation.arrange(world))
            let entry = try #require(waiting.first { $0["for"]?.string == situation.cause }, "\(waiting)")
            #expect(entry["pushes"]?.integer == situation.pushes)
            #expect(entry["since"]?.string.flatMap { RFC3339.parse($0) } != nil)
            if situation.cause != "predecessor" { #expect(entry["reason"]?.string == situation.reason) }
            #expect((entry["reason"]?.isNull ?? true) == (situation.reason == nil))
        }
    }

    @Test("exists for every cause that the gateway knows")
    func complete() {
        let names = Set(Situation.all.map(\.cause))
        let whole = ["hour", "planning", "predecessor", "cancellation"]
        #expect(names == Set(PushWait.Cause.allCases.map(\.name) + whole))
    }
}
