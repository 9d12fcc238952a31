import JSON
import Model
import Requests
import Testing

@Suite("The subscriptions of an app")
struct ServedSubscriptionTests {
    private static let app = "/v1/apps/tower"
    private static let path = app + "/wakeup/subscriptions"
    private static let strangersToken = "strangers-token-0000000000"

    /// Makes an app with four subscriptions, whose ids are 1 to 4. Ann's token came with the second and the third.
    private static func withSubscriptions(_ body: (GatewayWorld) async throws -> Void) async throws {
        try await withGateway { world in
            try await world.makeApp()
            try await world.expect(200, "PATCH", app, #"{"wakeup": {"enabled": true}}"#)
            try await world.expect(204, "PUT", app + "/rules", #"{"rules": {".read": true}}"#)
            for name in ["phone-a", "phone-b"] {
                try await world.expect(
                    201, "PUT", app + "/devices/" + name, #"{"provider": "fcm", "token": "token-of-\#(name)"}"#)
            }
            for subscription in [
                "/a?id=token-of-phone-a", "/a/b?id=token-of-phone-a&mode=value",
                "/a?id=token-of-phone-b&mode=childEvent",
                "?id=\(strangersToken)",
            ] {
                let reply = try await world.call("PUT", "/base/tower/.wakeup\(subscription)", key: nil)
                try #require(reply.status == 204, "\(reply.text)")
            }
            try await world.pool.script("UPDATE subscriptions SET user_id = 'ann' WHERE id IN (2, 3)")
            try await body(world)
        }
    }

    /// Returns the ids of all pages.
    private static func list(_ world: GatewayWorld, _ query: String, limit: Int) async throws -> [String] {
        var ids: [String] = []
        var cursor: String?
        repeat {
            let further = cursor.map { "&cursor=" + $0 } ?? ""
            let page = try await world.expect(200, "GET", "\(path)?limit=\(limit)\(query)\(further)")
            let items = try page.member("items")?.array ?? []
            #expect(items.count <= limit, "\(query)")
            ids += items.compactMap { $0.object?["id"]?.string }
            cursor = try page.member("next")?.string
        } while cursor != nil
        return ids
    }

    @Test("appear once each in lists, page by page, for every filter")
    func filters() async throws {
        let expected: [(query: String, ids: [String])] = [
            ("", ["1", "2", "3", "4"]), ("&path=/a", ["1", "3"]), ("&path=/a/b", ["2"]), ("&path=/", ["4"]),
            ("&path=/nothing", []), ("&installation=phone-a", ["1", "2"]), ("&installation=phone-b", ["3"]),
            ("&installation=nobody", []), ("&user=ann", ["2", "3"]), ("&user=bob", []), ("&user=ann&path=/a", ["3"]),
            ("&installation=phone-a&path=/a", ["1"]), ("&installation=phone-a&user=ann", ["2"]),
            ("&installation=phone-b&user=ann&path=/a/b", []),
        ]
        try await Self.withSubscriptions { world in
            for (query, ids) in expected {
                for limit in [1, 3, 100] {
                    let found = try await Self.list(world, query, limit: limit)
                    #expect(found == ids, "\(query), limit \(limit)")
                }
            }
        }
    }

    @Test("can be listed by state")
    func byState() async throws {
        try await Self.withSubscriptions { world in
            try await world.pool.script(
                """
                UPDATE registrations SET state = 3 WHERE installation = 'phone-a';
                UPDATE subscriptions SET expires_at = now() WHERE id = 3
                """)
            for (query, ids) in [
                ("&state=active", ["4"]), ("&state=dormant", ["1", "2"]), ("&state=expired", ["3"]),
                ("&state=dormant&path=/a", ["1"]), ("&state=active&path=/a", []),
                ("&state=dormant&installation=phone-a&path=/a/b", ["2"]), ("&state=expired&user=ann", ["3"]),
            ] { #expect(try await Self.list(world, query, limit: 1) == ids, "\(query)") }
            try await world.refuse(.invalidQuery, "GET", Self.path + "?state=asleep")
        }
    }

    @Test("end by path and by state, and not all of them by a forgotten parameter")
    func revokedTogether() async throws {
        try await Self.withSubscriptions { world in
            for query in ["", "?path=", "?path=&state="] {
                try await world.refuse(.missingMember, "DELETE", Self.path + query)
            }
            try await world.refuse(.invalidQuery, "DELETE", Self.path + "?state=asleep")
            try await world.refuse(.invalidQuery, "DELETE", Self.path + "?user=ann")
            for query in ["?path=/a", "?state=dormant", "?path=/a/b&state=active", "?path=/nothing"] {
                let reply = try await world.expect(202, "DELETE", Self.path + query)
                #expect(try reply.member("revoking") == true)
            }
            #expect(try await world.pool.number("SELECT count(*) FROM revocations") == 3)
        }
    }

    @Test("show device, mode, user and state, and never a token")
    func members() async throws {
        try await Self.withSubscriptions { world in
            let second = try await world.expect(200, "GET", Self.path + "/2").json()
            let texts = ["id", "path", "installation", "kind", "provider", "mode", "user", "state"].map {
                second[$0]?.string
            }
            #expect(texts == ["2", "/a/b", "phone-a", "alert", "fcm", "value", "ann", "active"])
            let created = try #require(second["created_at"]?.string)
            let expires = try #require(second["expires_at"]?.string)
            #expect(created < expires)
            let last = try await world.expect(200, "GET", Self.path + "/4")
            #expect(try last.member("kind")?.string == "wakeup")
            #expect(try last.member("user")?.isNull == true)
            let all = try await world.expect(200, "GET", Self.path)
            for text in [last.text, all.text] {
                #expect(!text.contains(Self.strangersToken) && !text.contains("token-of"))
            }
        }
    }

    private static func setting(_ state: RegistrationState) -> String {
        "UPDATE registrations SET state = \(state.rawValue)"
    }

    @Test(
        "have a state: active, dormant while their token is retired, or expired",
        arguments: [
            ("SELECT 1", "active"), (Self.setting(.suspected), "active"), (Self.setting(.retired), "dormant"),
            ("UPDATE subscriptions SET expires_at = now()", "expired"),
        ])
    func states(change: String, state: String) async throws {
        try await Self.withSubscriptions { world in
            try await world.pool.script(change)
            #expect(try await world.expect(200, "GET", Self.path + "/1").member("state")?.string == state)
        }
    }

    @Test("show whether they are behind, and which message told them last")
    func progress() async throws {
        let message = "0192f0c1-7b3a-7c4d-8e5f-a1b2c3d4e5f6"
        try await Self.withSubscriptions { world in
            func shown(_ id: Int) async throws -> [JSONValue?] {
                let subscription = try await world.expect(200, "GET", "\(Self.path)/\(id)").json()
                return [subscription["is_behind"], subscription["last_message"]]
            }
            #expect(try await shown(1) == [false, .null])
            try await world.expect(204, "PUT", "/base/tower/a/x.json", "1")
            #expect(try await shown(1) == [true, .null])
            #expect(try await shown(2) == [false, .null], "the write is not below its path")
            try await world.pool.script("UPDATE subscription_progress SET sent_seq = 1, message_id = '\(message)'")
            #expect(try await shown(1) == [false, .string(message)])
        }
    }

    @Test("count with their watches, with those that are due, and with jobs and notices")
    func counts() async throws {
        try await Self.withSubscriptions { world in
            func counts() async throws -> [Int64?] {
                let counts = try await world.expect(200, "GET", Self.app + "/wakeup").json()
                #expect((counts["due_since"]?.string == nil) == (counts["due_watches"]?.integer == 0))
                return ["subscriptions", "watches", "due_watches", "revocations", "notices"].map {
                    counts[$0]?.integer
                }
            }
            #expect(try await counts() == [4, 3, 0, 0, 0])
            try await world.expect(204, "PUT", "/base/tower/a.json", "1")
            #expect(try await counts() == [4, 3, 2, 0, 0], "the root and /a have changed")
            try await world.expect(204, "PUT", Self.app + "/rules", #"{"rules": {".read": true}}"#)
            #expect(try await counts() == [4, 3, 2, 1, 0])
            try await world.expect(204, "DELETE", Self.path + "/1")
            #expect(try await counts() == [3, 3, 2, 1, 1])
            try await world.makeApp("garden")
            let others = try await world.expect(200, "GET", "/v1/apps/garden/wakeup").json()
            #expect(others["subscriptions"]?.integer == 0 && others["notices"]?.integer == 0)
        }
    }

    @Test("end one by one with a notice that permission was denied")
    func revoked() async throws {
        try await Self.withSubscriptions { world in
            try await world.expect(204, "DELETE", Self.path + "/1")
            for method in ["GET", "DELETE"] {
                try await world.refuse(.unknownSubscription, method, Self.path + "/1")
            }
            #expect(try await Self.list(world, "", limit: 100) == ["2", "3", "4"])
            let notices = """
                SELECT count(*) FROM messages m JOIN message_contents c ON c.message_id = m.id
                    JOIN parcels p ON p.message_id = m.id
                WHERE m.origin = 3 AND m.audience = 1 AND p.member_count = 1
                    AND position('permission_denied'::bytea IN c.content) > 0
                """
            #expect(try await world.pool.number(notices) == 1)
            #expect(try await world.pool.number("SELECT count(*) FROM subscription_progress") == 3)
            // A provider takes no push to a retired token.
            try await world.pool.script(Self.setting(.retired))
            try await world.expect(204, "DELETE", Self.path + "/3")
            #expect(try await world.pool.number("SELECT count(*) FROM messages") == 1)
        }
    }

    @Test(
        "end if a user's token made them and the device gets another user or none",
        arguments: [
            (201, "PUT", "/devices/phone-c", #"{"provider": "fcm", "token": "token-of-phone-a", "user": "bob"}"#),
            (200, "PUT", "/devices/phone-a", #"{"provider": "fcm", "token": "token-of-phone-a", "user": "bob"}"#),
            (200, "PUT", "/devices/phone-a", #"{"provider": "fcm", "token": "token-of-phone-a", "user": null}"#),
            (200, "PUT", "/devices/phone-a", #"{"provider": "fcm", "token": "a-new-token", "user": null}"#),
            (200, "PATCH", "/devices/phone-a", #"{"user": null}"#),
            (
                200, "POST", "/devices/import",
                #"{"installation": "phone-a", "provider": "fcm", "token": "token-of-phone-a", "user": "bob"}"#
            ),
        ])
    func nextUser(status: Int, method: String, path: String, body: String) async throws {
        try await Self.withSubscriptions { world in
            try await world.expect(200, "PATCH", Self.app + "/devices/phone-a", #"{"user": "ann"}"#)
            try await world.expect(200, "PATCH", Self.app + "/devices/phone-a", #"{"tags": ["news"]}"#)
            #expect(try await Self.list(world, "", limit: 100) == ["1", "2", "3", "4"])
            try await world.expect(status, method, Self.app + path, body)
            #expect(try await Self.list(world, "", limit: 100) == ["1", "3", "4"])
        }
    }

    @Test("stay hidden from other apps, and from keys without the scope nodes")
    func strangers() async throws {
        try await Self.withSubscriptions { world in
            try await world.makeApp("garden")
            for method in ["GET", "DELETE"] {
                try await world.refuse(.unknownSubscription, method, "/v1/apps/garden/wakeup/subscriptions/1")
            }
            for (scope, isOpen) in [("nodes", true), ("devices", false)] {
                let made = try await world.expect(
                    201, "POST", Self.app + "/keys", #"{"name": "\#(scope)", "scopes": ["\#(scope)"]}"#)
                let key = try #require(try made.member("key")?.string)
                for path in [Self.app + "/wakeup", Self.path, Self.path + "/1"] {
                    #expect(try await world.call("GET", path, key: key).status == (isOpen ? 200 : 403), "\(path)")
                }
                let end = try await world.call("DELETE", Self.path + "/2", key: key)
                #expect(end.status == (isOpen ? 204 : 403))
            }
        }
    }

    private static let refusals: [(path: String, code: ProblemCode)] = [
        ("?path=a", .invalidQuery), ("?path=/a//b", .malformedPath), ("?path=/a/", .malformedPath),
        ("?path=/.hidden", .malformedPath), ("?path=/" + String(repeating: "k", count: 769), .malformedPath),
        ("?cursor=x", .invalidCursor), ("?cursor=-1", .invalidCursor), ("?cursor=1-2-3", .invalidCursor),
        ("?cursor=1-1", .invalidCursor), ("?path=/a&cursor=1", .invalidCursor), ("?limit=0", .invalidQuery),
        ("?installation=" + String(repeating: "x", count: 257), .valueTooLong), ("/0", .unknownSubscription),
        ("/x", .unknownSubscription), ("/99999999999999999999", .unknownSubscription), ("/5", .unknownSubscription),
    ]

    @Test("refuse filters, cursors and ids that mean nothing")
    func malformed() async throws {
        try await Self.withSubscriptions { world in
            for (path, code) in Self.refusals { try await world.refuse(code, "GET", Self.path + path) }
        }
    }
}
