import Encodings
import JSON
import Requests
import Signing
import Testing
import WakeUpRules

@Suite("Subscribing to a node without an API key")
struct ServedWakeUpTests {
    private static let device = "device-token-0000"
    private static let secret = Array("a secret of more than thirty-two bytes".utf8)

    /// A token of a user, signed with HS256.
    private static func token(_ claims: String, kid: String = "main") throws -> String {
        let parts = [#"{"alg":"HS256","kid":"\#(kid)"}"#, claims].map { Self.base64(Array($0.utf8)) }
        let signed = parts.joined(separator: ".")
        let signature = try HS256Key(secret: secret).sign(Array(signed.utf8))
        return signed + "." + base64(signature)
    }

    static func base64(_ bytes: [UInt8]) -> String { String(decoding: Base64.urlEncode(bytes), as: UTF8.self) }

    /// Sends a request as an app does, and returns the status, or that of the refusal's body.
    private static func ask(_ world: GatewayWorld, _ method: String, _ path: String) async throws -> String {
        let reply = try await world.call(method, path, key: nil)
        guard reply.status >= 400 else { return "\(reply.status)" }
        return "\(reply.status) " + (try reply.json()["status"]?.string ?? "no status")
    }

    private static func withApp(_ body: (GatewayWorld) async throws -> Void) async throws {
        try await withGateway { world in
            try await world.makeApp()
            try await world.expect(
                200, "PATCH", "/v1/apps/tower", #"{"wakeup": {"enabled": true, "weight_leaves": 2}}"#)
            let key = base64(secret)
            try await world.expect(
                201, "POST", "/v1/apps/tower/user-keys", #"{"kid": "main", "algorithm": "HS256", "key": "\#(key)"}"#)
            let rules = #"{".read": false, "open": {".read": true}, "of": {"$uid": {".read": "auth.sub == $uid"}}}"#
            try await world.expect(204, "PUT", "/v1/apps/tower/rules", #"{"rules": \#(rules)}"#)
            try await body(world)
        }
    }

    @Test("names the first of its reasons for a refusal, in the order of the contract")
    func order() async throws {
        try await withGateway { world in
            try await world.makeApp()
            let broken = ".wakeup/a//b?mode=all&token=x"
            #expect(try await Self.ask(world, "PUT", "/base/nowhere/\(broken)") == "404 namespace_does_not_exist")
            #expect(try await Self.ask(world, "PUT", "/base/tower/\(broken)") == "403 disabled")
            #expect(try await Self.ask(world, "DELETE", "/base/tower/.wakeup/%?%") == "403 disabled")
            try await world.expect(200, "PATCH", "/v1/apps/tower", #"{"wakeup": {"enabled": true}}"#)
            #expect(try await Self.ask(world, "PUT", "/base/tower/\(broken)") == "400 invalid_request")
            #expect(
                try await Self.ask(world, "PUT", "/base/tower/.wakeup/a?id=x&token=x") == "401 invalid_token")
            #expect(try await Self.ask(world, "PUT", "/base/tower/.wakeup/a?id=x") == "403 permission_denied")
        }
    }

    @Test("fails under a condition, since no route serves an ETag")
    func preconditions() async throws {
        try await Self.withApp { world in
            for method in ["PUT", "DELETE"] {
                let path = "/base/tower/.wakeup/open?id=\(Self.device)"
                let reply = try await world.call(method, path, key: nil, headers: ["If-None-Match: *"])
                #expect(reply.status == 412)
                #expect(try reply.json()["status"]?.string == "precondition_not_supported")
                let ignored = "If-Modified-Since: Sat, 28 Nov 2026 12:00:00 GMT"
                #expect(try await world.call(method, path, key: nil, headers: [ignored]).status == 204)
            }
        }
    }

    @Test("takes the mode null for noData, as the described service names its default")
    func nullMode() async throws {
        try await Self.withApp { world async throws in
            for mode in ["", "&mode=", "&mode=null", "&mode=noData"] {
                #expect(try await Self.ask(world, "PUT", "/base/tower/.wakeup/open?id=\(Self.device)\(mode)") == "204")
            }
            let other = "/base/tower/.wakeup/open?id=\(Self.device)&mode=Null"
            #expect(try await Self.ask(world, "PUT", other) == "400 invalid_request")
        }
    }

    @Test("fails if the app's own texts leave no room for the path in any payload")
    func noRoom() async throws {
        try await Self.withApp { world in
            let texts =
                #""title": "\#(String(repeating: "t", count: 256))", "body": "\#(String(repeating: "b", count: 1024))""#
            let alert = #"{"presentation": "alert", \#(texts)}"#
            try await world.expect(200, "PATCH", "/v1/apps/tower", #"{"wakeup": {"apns": \#(alert)}}"#)
            try await world.expect(201, "PUT", "/v1/apps/tower/devices/phone", GatewayWorld.registration(1))
            let token = try #require(
                try JSONReader.read(Array(GatewayWorld.registration(1).utf8)).object?["token"]?.string)
            let quotes = String(repeating: "%22", count: 700)
            func subscribe(_ device: String, _ path: String) async throws -> String {
                try await Self.ask(world, "PUT", "/base/tower/.wakeup/open/\(path)?id=\(device)")
            }
            #expect(try await subscribe(token, "\(quotes)/\(quotes)") == "400 invalid_request")
            #expect(try await subscribe(token, quotes) == "204")
            #expect(try await subscribe(Self.device, "\(quotes)/\(quotes)") == "204", "FCM gets no texts")
        }
    }

    private static let malformedPaths = [
        "a", "a?id=", "a?id=x%20y", "a?id=x&mode=all", "a?id=x&id=y", "a?id=x&nonsense=1", "a?id=%ff", "a?id=%zz",
        "a//b?id=x", "a/?id=x", "a%2Fb?id=x", "a%00?id=x", "a%?id=x", "../a?id=x", ".hidden?id=x", "$any?id=x",
        String(repeating: "k", count: 769) + "?id=x",
        (0..<3).map { _ in String(repeating: "k", count: 700) }.joined(separator: "/") + "?id=x",
        // The longest path that is allowed, of characters that take two bytes each in a payload.
        (0..<3).map { _ in String(repeating: "%22", count: 680) }.joined(separator: "/") + "?id=x",
    ]

    @Test("refuses what is malformed, and tells nothing of it to the log", arguments: malformedPaths)
    func malformed(path: String) async throws {
        try await Self.withApp { world in
            for method in ["PUT", "DELETE"] {
                let answer = try await Self.ask(world, method, "/base/tower/.wakeup/\(path)")
                #expect(answer == "400 invalid_request")
            }
            #expect(try await world.pool.number("SELECT count(*) FROM watches") == 0)
            #expect(try await world.pool.number("SELECT count(*) FROM registrations") == 0)
        }
    }

    @Test("asks the read rules for the user of the token, and lets nobody else unsubscribe")
    func users() async throws {
        try await Self.withApp { world in
            let ann = try Self.token(#"{"sub": "ann"}"#)
            let bob = try Self.token(#"{"sub": "bob"}"#)
            let path = "/base/tower/.wakeup/of/ann?id=\(Self.device)"
            #expect(try await Self.ask(world, "PUT", path) == "403 permission_denied")
            #expect(try await Self.ask(world, "PUT", path + "&token=\(bob)") == "403 permission_denied")
            #expect(try await Self.ask(world, "PUT", path + "&token=\(ann)&mode=value") == "204")
            #expect(try await Self.ask(world, "DELETE", path) == "403 permission_denied")
            #expect(try await Self.ask(world, "DELETE", path + "&token=\(bob)") == "403 permission_denied")
            #expect(try await world.pool.number("SELECT count(*) FROM subscriptions WHERE user_id = 'ann'") == 1)
            #expect(try await Self.ask(world, "DELETE", path + "&token=\(ann)") == "204")
            #expect(try await world.pool.number("SELECT count(*) FROM subscriptions") == 0)
            #expect(try await Self.ask(world, "DELETE", path + "&token=\(ann)") == "204")
        }
    }

    @Test("refuses the device's former user until the device is registered for that user again")
    func formerUser() async throws {
        try await Self.withApp { world in
            let ann = try Self.token(#"{"sub": "ann"}"#)
            let path = "/base/tower/.wakeup/of/ann?id=\(Self.device)&token=\(ann)"
            let phone = "/v1/apps/tower/devices/phone"
            try await world.expect(
                201, "PUT", phone, #"{"provider": "fcm", "token": "\#(Self.device)", "user": "ann"}"#)
            #expect(try await Self.ask(world, "PUT", path) == "204")
            try await world.expect(200, "PATCH", phone, #"{"user": "bob"}"#)
            #expect(try await Self.ask(world, "PUT", path) == "403 permission_denied")
            try await world.expect(200, "PATCH", phone, #"{"user": "ann"}"#)
            #expect(try await Self.ask(world, "PUT", path) == "204")
        }
    }

    @Test("keeps the claims that the rules name, null for what the token lacks, or all of them")
    func keptClaims() async throws {
        try await Self.withApp { world in
            let token = try Self.token(#"{"sub": "ann", "mail": "ann@example.com", "org": 1}"#)
            for (rule, kept, hasAll) in [
                ("auth.role == null && auth.org == 1", #"{"sub": "ann", "org": 1, "role": null}"#, false),
                ("auth != null", #"{"sub": "ann"}"#, false),
                ("auth['o' == 'p'] == null", #"{"sub": "ann", "mail": "ann@example.com", "org": 1}"#, true),
            ] {
                try await world.expect(204, "PUT", "/v1/apps/tower/rules", #"{"rules": {".read": "\#(rule)"}}"#)
                let path = "/base/tower/.wakeup/a?id=\(Self.device)&token=\(token)"
                for request in ["a new one", "a refresh"] {
                    #expect(try await Self.ask(world, "PUT", path) == "204")
                    let found = "claims = '\(kept)' AND has_all_claims = \(hasAll)"
                    #expect(
                        try await world.pool.number("SELECT count(*) FROM subscriptions WHERE \(found)") == 1,
                        "\(rule), \(request)")
                }
                try await world.pool.script("DELETE FROM subscriptions")
            }
        }
    }

    @Test("refuses a token that is expired, of another key, changed or too long")
    func tokens() async throws {
        try await Self.withApp { world in
            let good = try Self.token(#"{"sub": "ann"}"#)
            let refused = [
                try Self.token(#"{"sub": "ann", "exp": 1700000000}"#), try Self.token(#"{"sub": "ann"}"#, kid: "other"),
                good + "A", String(good.dropLast(3)), "a.b.c", String(repeating: "x", count: 5_000),
            ]
            for token in refused {
                let answer = try await Self.ask(world, "PUT", "/base/tower/.wakeup/open?id=x&token=\(token)")
                #expect(answer == "401 invalid_token")
            }
            #expect(try await Self.ask(world, "PUT", "/base/tower/.wakeup/open?id=x&token=\(good)") == "204")
            // A client that has no token yet is not nobody, and a claim may be a number that no database stores.
            #expect(try await Self.ask(world, "PUT", "/base/tower/.wakeup/open?id=x&token=") == "401 invalid_token")
            let huge = try Self.token(#"{"sub": "ann", "n": 1e200000}"#)
            try await world.expect(204, "PUT", "/v1/apps/tower/rules", #"{"rules": {".read": "auth.n != 1"}}"#)
            let answer = try await Self.ask(world, "PUT", "/base/tower/.wakeup/open?id=x&token=\(huge)")
            #expect(answer == "401 invalid_token")
        }
    }

    @Test("subscribes to the root and to nodes without data, and not to one that is too heavy")
    func nodes() async throws {
        try await Self.withApp { world in
            try await world.expect(204, "PUT", "/v1/apps/tower/rules", #"{"rules": {".read": true}}"#)
            for path in [".wakeup", ".wakeup/", ".wakeup/open/door"] {
                #expect(try await Self.ask(world, "PUT", "/base/tower/\(path)?id=\(Self.device)") == "204")
            }
            #expect(try await world.pool.number("SELECT count(*) FROM subscriptions") == 2)
            try await world.expect(204, "PUT", "/base/tower/open.json", #"{"a": 1, "b": 2, "c": 3}"#)
            #expect(try await Self.ask(world, "PUT", "/base/tower/.wakeup/open?id=x") == "403 too_big")
            #expect(try await Self.ask(world, "PUT", "/base/tower/.wakeup?id=x") == "403 too_big", "it has grown")
        }
    }
}

@Suite("An app with a data tree")
struct ServedAccessTests {
    @Test("keeps wake-up settings that a change does not name")
    func settings() async throws {
        try await withGateway { world in
            try await world.makeApp()
            func settings() async throws -> String {
                let app = try await world.expect(200, "GET", "/v1/apps/tower").json()
                return String(decoding: app["wakeup"]?.bytes ?? [], as: UTF8.self)
            }
            #expect(
                try await settings()
                    == #"{"enabled":false,"default_days":30,"longest_days":365,"gather_ms":1000,"#
                    + #""weight_bytes":1048576,"weight_leaves":10000,"subscriptions_max":10000000,"unproven_hours":24,"#
                    + #""apns":{"presentation":"background"}}"#)
            let alert = #"{"presentation": "alert", "title": "News", "body": "Open the app"}"#
            try await world.expect(200, "PATCH", "/v1/apps/tower", #"{"wakeup": {"enabled": true, "apns": \#(alert)}}"#)
            try await world.expect(200, "PATCH", "/v1/apps/tower", #"{"wakeup": {"gather_ms": 5}}"#)
            #expect(
                try await settings()
                    == #"{"enabled":true,"default_days":30,"longest_days":365,"gather_ms":5,"#
                    + #""weight_bytes":1048576,"weight_leaves":10000,"subscriptions_max":10000000,"unproven_hours":24,"#
                    + #""apns":{"presentation":"alert","title":"News","body":"Open the app"}}"#)
            try await world.refuse(
                .invalidValue, "PATCH", "/v1/apps/tower", #"{"wakeup": {"gather_ms": -1}}"#,
                pointer: "/wakeup/gather_ms")
            for (name, number) in [("subscriptions_max", 0), ("subscriptions_max", 10_000_001), ("unproven_hours", 0)] {
                try await world.refuse(
                    .invalidValue, "PATCH", "/v1/apps/tower", #"{"wakeup": {"\#(name)": \#(number)}}"#,
                    pointer: "/wakeup/\(name)")
            }
            try await world.refuse(
                .missingMember, "PATCH", "/v1/apps/tower", #"{"wakeup": {"apns": {"presentation": "alert"}}}"#,
                pointer: "/wakeup/apns/title")
        }
    }

    @Test("refuses invalid rules with the place of the fault")
    func rules() async throws {
        try await withGateway { world in
            try await world.makeApp()
            #expect(try await world.expect(200, "GET", "/v1/apps/tower/rules").text.hasSuffix(#"{"rules":{}}"#))
            let reply = try await world.refuse(
                .invalidRules, "PUT", "/v1/apps/tower/rules", #"{"rules": {"a": {".read": "auth.sub = 'x'"}}}"#,
                pointer: "/rules/a/.read")
            #expect(try reply.json()["position"]?.integer == 10)
            try await world.refuse(.missingMember, "PUT", "/v1/apps/tower/rules", "{}", pointer: "/rules")
            let deep = String(repeating: #"{"a":"#, count: 40) + "1" + String(repeating: "}", count: 40)
            try await world.refuse(.jsonTooComplex, "PUT", "/v1/apps/tower/rules", #"{"rules": \#(deep)}"#)
            try await world.expect(204, "PUT", "/v1/apps/tower/rules", #"{"rules": { ".read" : true }}"#)
            #expect(
                try await world.expect(200, "GET", "/v1/apps/tower/rules").text.hasSuffix(#"{"rules":{".read":true}}"#))
        }
    }

    @Test("keeps users' keys, and never shows them")
    func keys() async throws {
        try await withGateway { world in
            try await world.makeApp()
            let path = "/v1/apps/tower/user-keys"
            let secret = ServedWakeUpTests.base64(Array(repeating: 7, count: 32))
            let body = #"{"kid": "2026", "algorithm": "HS256", "key": "\#(secret)"}"#
            try await world.expect(201, "POST", path, body)
            try await world.refuse(.conflict, "POST", path, body, pointer: "/kid")
            let pem = String(decoding: try ES256Key.generate().privatePEM(), as: UTF8.self)
                .replacing("\n", with: "\\n")
            try await world.refuse(
                .invalidValue, "POST", path, #"{"kid": "p", "algorithm": "ES256", "key": "\#(pem)"}"#, pointer: "/key")
            try await world.refuse(
                .invalidValue, "POST", path, #"{"kid": "p", "algorithm": "none", "key": "x"}"#, pointer: "/algorithm")
            let listed = try await world.expect(200, "GET", path)
            #expect(!listed.text.contains(secret))
            #expect(try listed.json()["items"]?.array?.count == 1)
            try await world.expect(204, "DELETE", path + "/2026")
            try await world.refuse(.unknownKey, "DELETE", path + "/2026")
        }
    }
}
