import Basis
import Calendar
import JSON
import Model
import Reactor
import Testing

private func inDays(_ days: Int64) -> String { RFC3339.format(Clocks.wallNow() + .seconds(days * 86_400)) }

extension GatewayWorld {
    /// Sends a message to an audience, with the operator's key and far ahead of its time, and returns its path.
    fileprivate func schedule(_ app: String, _ audience: String) async throws -> String {
        let members = #""notification": {"body": "Noon"}, "options": {"send_at": "\#(inDays(1))"}"#
        let sent = try await expect(202, "POST", app + "/messages", #"{"audience": \#(audience), \#(members)}"#)
        return try #require(sent.header("location"))
    }

    fileprivate func key(_ app: String, _ scope: APIScope) async throws -> String {
        let body = #"{"name": "\#(scope.rawValue)", "scopes": ["\#(scope.rawValue)"]}"#
        return try #require(try await expect(201, "POST", app + "/keys", body).member("key")?.string)
    }

    /// Expects the refusal of a key that lacks the scope.
    fileprivate func refuse(
        _ scope: APIScope, _ method: String, _ path: String, _ body: String? = nil, key: String,
        headers: [String] = [], sourceLocation: SourceLocation = #_sourceLocation
    ) async throws {
        let reply = try await call(method, path, body, key: key, headers: headers, sourceLocation: sourceLocation)
        #expect(reply.status == 403, "\(method) \(path): \(reply.text)", sourceLocation: sourceLocation)
        let missing = try reply.member("missing_scopes")?.array?.compactMap(\.string)
        #expect(missing == [scope.rawValue], sourceLocation: sourceLocation)
    }
}

/// Everything that changes a message, in an order in which each takes effect.
private var changes: [(method: String, verb: String, body: String?)] {
    [
        ("PATCH", "", #"{"name": "Bells"}"#), ("PATCH", "", #"{"rate_per_second": 5}"#),
        ("PATCH", "", #"{"rate_per_second": null}"#), ("PATCH", "", #"{"notification": {"body": "Midnight"}}"#),
        ("PATCH", "", #"{"send_at": "\#(inDays(2))"}"#), ("PATCH", "", #"{"name": null, "rate_per_second": 1}"#),
        ("POST", "/pause", nil), ("POST", "/resume", nil), ("POST", "/duplicate", nil), ("POST", "/cancel", nil),
    ]
}

@Suite("A change of a message")
struct ServedScopeTests {
    private static let broadcasts = [
        #"{"all": true}"#, #"{"tags": {"any": ["news"]}}"#, #"{"filter": "locale == 'fr'"}"#, #"{"stale": true}"#,
    ]
    private static let named = [
        #"{"installations": ["phone"]}"#, #"{"users": ["ann"]}"#,
        #"{"tokens": [{"provider": "apns", "token": "a001", "topic": "com.example.app"}]}"#,
    ]

    @Test("needs the scope that a key needs to send to its audience, whatever is changed")
    func byAudience() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let keys = [
                APIScope.messages: try await world.key(app, .messages),
                .broadcast: try await world.key(app, .broadcast),
            ]
            let audiences = Self.broadcasts.map { ($0, APIScope.broadcast) } + Self.named.map { ($0, .messages) }
            for (audience, scope) in audiences {
                let path = try await world.schedule(app, audience)
                func seen() async throws -> [JSONValue?] {
                    let message = try await world.expect(200, "GET", path).json()
                    return ["state", "name", "rate_per_second", "send_at", "request"].map { message[$0] }
                }
                let before = try await seen()
                let (right, wrong) =
                    scope == .messages ? (keys[.messages], keys[.broadcast]) : (keys[.broadcast], keys[.messages])
                for (method, verb, body) in changes {
                    try await world.refuse(scope, method, path + verb, body, key: try #require(wrong))
                }
                #expect(try await seen() == before, "\(audience)")
                #expect(try await world.call("GET", path, key: wrong).status == 200, "either scope reads it")
                for (method, verb, body) in changes {
                    let reply = try await world.call(method, path + verb, body, key: right)
                    #expect(reply.status == (verb == "/duplicate" ? 201 : 200), "\(audience) \(verb): \(reply.text)")
                }
                // The state says no more than the key may know.
                try await world.refuse(scope, "POST", path + "/resume", key: try #require(wrong))
            }
        }
    }

    @Test("needs the scope of the audience that the message has by then")
    func afterNewAudience() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let key = try await world.key(app, .messages)
            let path = try await world.schedule(app, #"{"users": ["ann"]}"#)
            try await world.expect(200, "PATCH", path, #"{"audience": {"all": true}}"#)
            for (method, verb, body) in changes {
                try await world.refuse(.broadcast, method, path + verb, body, key: key)
            }
            try await world.refuse(.broadcast, "PATCH", path, #"{"audience": {"users": ["ann"]}}"#, key: key)
            try await world.expect(200, "PATCH", path, #"{"audience": {"users": ["ann"]}}"#)
            #expect(try await world.call("POST", path + "/pause", key: key).status == 200)
        }
    }

    @Test("needs the same scope once its content is deleted, also for a repeated request")
    func swept() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let key = try await world.key(app, .messages)
            let path = try await world.schedule(app, #"{"all": true}"#)
            let once = ["Idempotency-Key: copy-1"]
            let copy = try await world.expect(201, "POST", path + "/duplicate", headers: once)
            try await world.pool.script("DELETE FROM message_contents")
            try await world.refuse(.broadcast, "POST", path + "/duplicate", key: key, headers: once)
            #expect(try await world.expect(201, "POST", path + "/duplicate", headers: once).body == copy.body)
            try await world.refuse(.broadcast, "POST", path + "/cancel", key: key)
            try await world.refuse(.broadcast, "PATCH", path, #"{"rate_per_second": 1}"#, key: key)
        }
    }

    @Test("needs the scope broadcast for a message of the gateway's own")
    func ofGateway() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let key = try await world.key(app, .messages)
            for audience in ["subscribers", "revoked", "item_subscribers"] {
                let path = try await world.schedule(app, #"{"all": true}"#)
                let id = try #require(path.split(separator: "/").last)
                try await world.pool.script(
                    #"""
                    UPDATE messages SET origin = 1, audience_summary = '{"\#(audience)":true}' WHERE id = '\#(id)';
                    UPDATE message_contents SET audience = '{"\#(audience)":7}' WHERE message_id = '\#(id)'
                    """#)
                for (method, verb, body) in changes {
                    try await world.refuse(.broadcast, method, path + verb, body, key: key)
                }
            }
        }
    }
}
