import JSON
import Requests
import Testing

@Suite("Subscriptions of a device to items")
struct ServedItemSubscriptionTests {
    private static let all = ItemApp.subscriptions()

    private static func withPhone(
        _ settings: String = ItemApp.anyTrigger, _ body: (GatewayWorld) async throws -> Void
    ) async throws {
        try await ItemApp.with(settings) { world in
            try await world.expect(201, "PUT", ItemApp.device("phone"), ItemApp.registration("a:b"))
            try await body(world)
        }
    }

    /// Activates a subscription, and returns its key.
    private static func activate(
        _ world: GatewayWorld, _ members: String = "", status: Int = 201, on path: String = all
    ) async throws -> String {
        let reply = try await world.expect(status, "POST", path, ItemApp.activation(members))
        return try #require(try reply.member("key")?.string)
    }

    private static func trigger(above bound: Int) -> String {
        #", "trigger": "Double.parseDouble(${last_price}) > \#(bound)""#
    }

    private static func keys(_ world: GatewayWorld, _ query: String = "") async throws -> [String] {
        let page = try await world.expect(200, "GET", all + query)
        return try #require(try page.member("items")?.array).compactMap { $0.object?["key"]?.string }
    }

    @Test("show what was given, with defaults for mode and when_paused")
    func shown() async throws {
        try await Self.withPhone { world in
            let members = Self.trigger(above: 100) + #", "badge": "AUTO", "time_to_live": "300", "pause_seconds": 0"#
            let reply = try await world.expect(201, "POST", Self.all, ItemApp.activation(members))
            let key = try #require(try reply.member("key")?.string)
            #expect(reply.header("location") == "\(Self.all)/\(key)")
            let body = try reply.json()
            #expect(
                body.members.map(\.name) == [
                    "key", "status", "items", "fields", "mode", "trigger", "notification", "badge", "time_to_live",
                    "pause_seconds", "when_paused", "created_at",
                ])
            #expect(body["status"] == "active" && body["mode"] == "MERGE" && body["when_paused"] == "newest")
            #expect(body["badge"] == "AUTO" && body["time_to_live"] == "300" && body["pause_seconds"] == 0)
            #expect(body["trigger"] == "Double.parseDouble(${last_price}) > 100")
            #expect(body["notification"]?.object?["body"] == "Stock ${stock_name} is now ${last_price}")
            let read = try await world.expect(200, "GET", "\(Self.all)/\(key)").json()
            #expect(read == body)
            #expect(try await world.expect(200, "GET", Self.all).member("items")?.array == [.object(body)])
        }
    }

    @Test("come in pages, by status, and go one by one and together")
    func lists() async throws {
        try await Self.withPhone { world in
            var made: [String] = []
            for bound in 1...5 { made.append(try await Self.activate(world, Self.trigger(above: bound))) }
            try await world.pool.script(
                """
                UPDATE item_subscriptions SET status = 2
                WHERE id IN (SELECT id FROM item_subscriptions ORDER BY id LIMIT 2)
                """)
            #expect(try await Self.keys(world) == made)
            #expect(try await Self.keys(world, "?status=triggered") == Array(made[..<2]))
            #expect(try await Self.keys(world, "?status=active") == Array(made[2...]))
            var (walked, next) = ([String](), "")
            repeat {
                let page = try await world.expect(200, "GET", "\(Self.all)?limit=2&cursor=\(next)").json()
                walked += page["items"]?.array?.compactMap { $0.object?["key"]?.string } ?? []
                next = page["next"]?.string ?? ""
            } while next != "" && walked.count < 9
            #expect(walked == made)
            try await world.refuse(.invalidQuery, "DELETE", Self.all + "?status=")
            try await world.refuse(.invalidQuery, "GET", Self.all + "?status=idle")
            try await world.expect(204, "DELETE", Self.all + "?status=triggered")
            #expect(try await Self.keys(world) == Array(made[2...]))
            try await world.expect(204, "DELETE", "\(Self.all)/\(made[2])")
            try await world.refuse(.unknownSubscription, "DELETE", "\(Self.all)/\(made[2])")
            for _ in 0..<2 { try await world.expect(204, "DELETE", Self.all) }
            #expect(try await Self.keys(world).isEmpty)
        }
    }

    @Test("belong to one installation, and to none that is unknown")
    func ofDevice() async throws {
        try await Self.withPhone { world in
            let key = try await Self.activate(world)
            try await world.expect(201, "PUT", ItemApp.device("tablet"), ItemApp.registration("c:d"))
            for name in [key, "1", "0192f0c1-7b3a-7c4d-8e5f-a1b2c3d4e5f6"] {
                let path = "\(ItemApp.subscriptions("tablet"))/\(name)"
                for method in ["GET", "DELETE"] { try await world.refuse(.unknownSubscription, method, path) }
                try await world.refuse(.unknownSubscription, "PATCH", path, "{}")
                try await world.refuse(.unknownSubscription, "POST", path + "/reactivate")
            }
            let nowhere = ItemApp.subscriptions("nowhere")
            for method in ["GET", "DELETE"] { try await world.refuse(.unknownDevice, method, nowhere) }
            try await world.refuse(.unknownDevice, "POST", nowhere, ItemApp.activation())
            try await world.refuse(.unknownDevice, "GET", "\(nowhere)/\(key)")
            let longest = String(repeating: "i", count: 257)
            try await world.refuse(.valueTooLong, "GET", ItemApp.subscriptions(longest))
        }
    }

    @Test("coalesce if items, fields and trigger are the same, and keep the key")
    func coalescing() async throws {
        try await Self.withPhone { world in
            let coalescing = #", "coalescing": true"#
            let key = try await Self.activate(world, coalescing)
            #expect(try await Self.activate(world, coalescing + #", "mode": "DISTINCT""#, status: 200) == key)
            let overwritten = try await world.expect(200, "GET", "\(Self.all)/\(key)").json()
            #expect(overwritten["mode"] == "DISTINCT")
            let others = [
                try await Self.activate(world), try await Self.activate(world, coalescing + Self.trigger(above: 1)),
            ]
            #expect(try await Self.keys(world) == [key] + others)
        }
    }

    @Test("arise once for each idempotency key, and the answer keeps its status")
    func idempotent() async throws {
        try await Self.withPhone { world in
            for (members, status) in [(#", "coalescing": true"#, 201), (#", "coalescing": true, "sound": "x""#, 200)] {
                let once = ["Idempotency-Key: \(status)"]
                let first = try await world.expect(
                    status, "POST", Self.all, ItemApp.activation(members), headers: once)
                let again = try await world.expect(
                    status, "POST", Self.all, ItemApp.activation(members), headers: once)
                #expect(again.body == first.body && again.header("location") == first.header("location"))
                #expect(again.header("idempotency-replayed") == "true")
                try await world.refuse(.idempotencyMismatch, "POST", Self.all, ItemApp.activation(), headers: once)
            }
            #expect(try await Self.keys(world).count == 1)
        }
    }

    @Test("register the device that an activation brings, and its new token")
    func withDevice() async throws {
        try await ItemApp.with { world in
            for (token, shown) in [("first:token-of-a-phone", "…hone"), ("second:token-of-a-tab", "…-tab")] {
                _ = try await Self.activate(world, #", "device": \#(ItemApp.registration(token))"#)
                let device = try await world.expect(200, "GET", ItemApp.device("phone"))
                #expect(try device.member("token")?.string == shown)
            }
            #expect(try await Self.keys(world).count == 2)
            let voip = #", "device": {"provider": "apns", "token": "00ff", "kind": "voip"}"#
            try await world.refuse(
                .invalidValue, "POST", ItemApp.subscriptions("other"), ItemApp.activation(voip),
                pointer: "/device/kind")
        }
    }

    @Test("register no device a second time for a repeated idempotency key")
    func repeatedWithDevice() async throws {
        try await ItemApp.with { world in
            let once = ["Idempotency-Key: k"]
            func activation(_ token: String) -> String {
                ItemApp.activation(#", "device": \#(ItemApp.registration(token))"#)
            }
            let first = try await world.expect(201, "POST", Self.all, activation("first:of-a-phone"), headers: once)
            try await world.expect(200, "PUT", ItemApp.device("phone"), ItemApp.registration("second:of-a-new-tab"))
            let again = try await world.expect(201, "POST", Self.all, activation("first:of-a-phone"), headers: once)
            #expect(again.body == first.body && again.header("idempotency-replayed") == "true")
            try await world.refuse(
                .idempotencyMismatch, "POST", Self.all, activation("third:of-a-watch"), headers: once)
            let token = try await world.expect(200, "GET", ItemApp.device("phone")).member("token")?.string
            #expect(token?.hasSuffix("tab") == true, "\(token ?? "")")
        }
    }

    @Test("change nothing and register nothing if the activation is refused")
    func refusedWithDevice() async throws {
        try await ItemApp.with(#""allow": ["a"]"#) { world in
            let device = #", "device": \#(ItemApp.registration("a:b"))"#
            let refusals: [(members: String, code: ProblemCode)] = [
                (Self.trigger(above: 1), .triggerNotAllowed), (#", "trigger": "Double""#, .invalidTrigger),
                (#", "mode": "RAW""#, .modeNotSupported),
                (#", "data": {"a": "\#(String(repeating: "x", count: 5_000))"}"#, .payloadTooLarge),
            ]
            for (members, code) in refusals {
                let reply = try await world.call("POST", Self.all, ItemApp.activation(members + device))
                #expect(reply.status == code.status, "\(reply.text)")
                #expect(try reply.member("code")?.string == code.rawValue)
            }
            try await world.refuse(.unknownDevice, "GET", Self.all)
        }
    }
}

// Modifications, and the allow-list.
extension ServedItemSubscriptionTests {
    @Test("change member by member, and arm again if trigger, items or fields are named")
    func modified() async throws {
        try await Self.withPhone { world in
            let key = try await Self.activate(world, Self.trigger(above: 100) + #", "sound": "bell""#)
            let path = "\(Self.all)/\(key)"
            func patch(_ body: String) async throws -> JSONObject {
                try await world.pool.script("UPDATE item_subscriptions SET status = 2")
                return try await world.expect(200, "PATCH", path, body).json()
            }
            let silent = try await patch(#"{"sound": null, "pause_seconds": 5}"#)
            #expect(silent["status"] == "triggered" && silent["sound"] == nil && silent["pause_seconds"] == 5)
            let moved = try await patch(#"{"trigger": "Double.parseDouble(${last_price}) > 120"}"#)
            #expect(moved["status"] == "active" && moved["key"]?.string == key)
            #expect(moved["trigger"] == "Double.parseDouble(${last_price}) > 120")
            let follower = try await patch(#"{"trigger": null, "items": ["anduct", "ations"]}"#)
            #expect(follower["trigger"] == nil && follower["items"] == ["anduct", "ations"])
            try await world.refuse(
                .fieldNotSubscribed, "PATCH", path, #"{"fields": ["last_price"]}"#, pointer: "/fields")
            try await world.refuse(.unknownMember, "PATCH", path, #"{"coalescing": true}"#, pointer: "/coalescing")
            let read = try await world.expect(200, "GET", path).json()
            #expect(read["fields"] == ["stock_name", "last_price"])
        }
    }

    @Test("arm again when they are reactivated, and an active one stays as it is")
    func reactivated() async throws {
        try await Self.withPhone { world in
            let key = try await Self.activate(world, Self.trigger(above: 100))
            try await world.pool.script("UPDATE item_subscriptions SET status = 2")
            for _ in 0..<2 {
                let reply = try await world.expect(200, "POST", "\(Self.all)/\(key)/reactivate")
                #expect(try reply.member("status") == "active")
            }
        }
    }

    @Test("have only triggers that one pattern of the app matches whole, for API keys too")
    func allowList() async throws {
        try await Self.withPhone(#""pause_seconds": 1"#) { world in
            let trigger = Self.trigger(above: 100)
            try await world.refuse(
                .triggerNotAllowed, "POST", Self.all, ItemApp.activation(trigger), pointer: "/trigger")
            let key = try await Self.activate(world)
            let body = "{\(trigger.dropFirst(2))}"
            try await world.refuse(.triggerNotAllowed, "PATCH", "\(Self.all)/\(key)", body, pointer: "/trigger")
            func allow(_ pattern: String) async throws {
                let text = JSONValue.string(pattern).bytes
                try await world.expect(
                    200, "PATCH", ItemApp.path,
                    #"{"triggers": {"allow": ["nothing", \#(String(decoding: text, as: UTF8.self))]}}"#)
            }
            try await allow(#"Double\.parseDouble\(\$\{last_price\}\)"#)
            try await world.refuse(
                .triggerNotAllowed, "POST", Self.all, ItemApp.activation(trigger), pointer: "/trigger")
            try await allow(#"Double\.parseDouble\(\$\{last_price\}\) [<>] \d+"#)
            _ = try await Self.activate(world, trigger)
            try await world.expect(200, "PATCH", "\(Self.all)/\(key)", body)
            try await world.pool.script("UPDATE item_subscriptions SET status = 2")
            try await allow("narrower")
            let again = "\(Self.all)/\(key)/reactivate"
            try await world.refuse(.triggerNotAllowed, "POST", again, pointer: "/trigger")
            try await allow(".*")
            try await world.expect(200, "POST", again)
        }
    }

    @Test("need patterns that PostgreSQL compiles, each by itself")
    func patterns() async throws {
        try await ItemApp.with { world in
            for pattern in ["a)|(?:.*", "(", "***=a", "(?x)a", #"(a)\\1"#, "((a{255}){255}){255}", ""] {
                try await world.refuse(
                    .invalidValue, "PATCH", ItemApp.path, #"{"triggers": {"allow": ["a", "\#(pattern)"]}}"#,
                    pointer: "/triggers/allow/1")
            }
            let app = try await world.expect(200, "GET", ItemApp.path)
            #expect(try app.member("triggers")?.object?["allow"] == [".*"])
        }
    }

    @Test("meet a refusal while the app's items are off, and those that exist can be deactivated")
    func off() async throws {
        try await Self.withPhone { world in
            let key = try await Self.activate(world)
            try await world.expect(200, "PATCH", ItemApp.path, #"{"triggers": {"enabled": false}}"#)
            try await world.refuse(.disabled, "POST", Self.all, ItemApp.activation())
            try await world.expect(200, "GET", "\(Self.all)/\(key)")
            try await world.expect(204, "DELETE", "\(Self.all)/\(key)")
        }
    }
}
