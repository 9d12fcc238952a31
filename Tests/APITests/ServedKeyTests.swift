import API
import JSON
import Model
import Requests
import Testing

@Suite("An API key of a running gateway")
struct ServedKeyTests {
    @discardableResult
    private func make(
        _ world: GatewayWorld, _ path: String, _ scopes: String, name: String = "client", members: String = ""
    ) async throws -> (id: String, key: String) {
        let made = try await world.expect(
            201, "POST", path, #"{"name": "\#(name)", "scopes": [\#(scopes)]\#(members)}"#)
        #expect(made.header("cache-control") == "no-store")
        let (id, key) = (try made.member("id")?.string, try made.member("key")?.string)
        return (try #require(id), try #require(key))
    }

    private func status(_ world: GatewayWorld, _ method: String, _ path: String, _ key: String, _ body: String? = nil)
        async throws -> Int
    {
        try await world.call(method, path, body, key: key).status
    }

    @Test("opens the endpoints of its scopes, and no others")
    func scopes() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let endpoints: [(scope: String, method: String, path: String, body: String?)] = [
                ("devices", "GET", "/devices", nil),
                ("devices", "PUT", "/devices/phone", GatewayWorld.registration(1)),
                ("messages", "GET", "/messages", nil), ("broadcast", "GET", "/messages", nil),
                ("feedback", "GET", "/feedback", nil), ("credentials", "GET", "/credentials", nil),
                ("keys", "GET", "/keys", nil), ("admin", "PATCH", "", #"{"name": "Tower"}"#),
            ]
            for scope in APIScope.allCases {
                let key = try await make(world, app + "/keys", "\"\(scope.rawValue)\"", name: scope.rawValue).key
                for endpoint in endpoints {
                    let isOpen = endpoint.scope == scope.rawValue || scope == .admin
                    let opens = try await status(world, endpoint.method, app + endpoint.path, key, endpoint.body)
                    let other = endpoint.path == "/messages" && (scope == .messages || scope == .broadcast)
                    #expect(
                        (opens < 300) == (isOpen || other), "\(scope) at \(endpoint.method) \(endpoint.path): \(opens)")
                    #expect(opens < 300 || opens == 403)
                }
                // Every key may read the app that it belongs to.
                #expect(try await status(world, "GET", app, key) == 200)
            }
        }
    }

    @Test("can't have the name of the operator's own key", arguments: ["admin key", "Admin Key"])
    func operatorName(name: String) async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let body = #"{"name": "\#(name)", "scopes": ["messages"]}"#
            try await world.refuse(.invalidValue, "POST", app + "/keys", body, pointer: "/name")
        }
    }

    @Test("opens its own app only, unless it was created for all apps")
    func otherApps() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await world.makeApp("garden")
            let key = try await make(world, app + "/keys", #""admin""#).key
            #expect(try await status(world, "GET", app + "/devices", key) == 200)
            for path in ["/v1/apps/garden/devices", "/v1/apps/nowhere/devices", "/v1/apps", "/v1/keys"] {
                let reply = try await world.call("GET", path, key: key)
                #expect(reply.status == 403)
                #expect(try reply.member("code")?.string == "forbidden")
            }
            let everywhere = try await make(world, "/v1/keys", #""devices""#).key
            #expect(try await status(world, "GET", app + "/devices", everywhere) == 200)
            #expect(try await status(world, "GET", "/v1/apps/garden/devices", everywhere) == 200)
            #expect(try await status(world, "GET", "/v1/apps/nowhere/devices", everywhere) == 404)
            #expect(try await status(world, "GET", "/v1/apps", everywhere) == 403)
        }
    }

    @Test("gets the names of the missing scopes in a refusal, readable by programs")
    func missingScopes() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let key = try await make(world, app + "/keys", #""messages""#).key
            let broadcast = #"{"audience": {"all": true}, "notification": {"body": "x"}}"#
            for (method, path, body, scopes) in [
                ("GET", "/devices", nil, ["devices"]), ("GET", "/credentials", nil, ["credentials"]),
                ("POST", "/messages", broadcast, ["broadcast"]),
            ] {
                let reply = try await world.call(method, app + path, body, key: key)
                #expect(try reply.member("code")?.string == "forbidden")
                #expect(try reply.member("missing_scopes")?.array?.compactMap(\.string) == scopes)
            }
            // The body is not read: the detail names both scopes, with the audiences that each opens.
            let other = try await make(world, app + "/keys", #""devices""#, name: "other").key
            let reply = try await world.call("POST", app + "/messages", broadcast, key: other)
            #expect(try reply.member("missing_scopes")?.array?.compactMap(\.string) == ["messages", "broadcast"])
            #expect(try reply.member("detail")?.string?.contains(#""broadcast" (to all, tags, a filter)"#) == true)
            let elsewhere = try await world.call("GET", "/v1/apps", key: key)
            #expect(try elsewhere.member("code")?.string == "forbidden", "no other scope would help")
            #expect(try elsewhere.member("missing_scopes") == nil)
        }
    }

    @Test("reaches named receivers with the scope messages, and all or tags only with broadcast")
    func broadcast() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let named = try await make(world, app + "/keys", #""messages""#, name: "named").key
            let all = try await make(world, app + "/keys", #""broadcast""#, name: "all").key
            func send(_ audience: String, _ key: String) async throws -> Int {
                try await status(
                    world, "POST", app + "/messages", key,
                    #"{"audience": \#(audience), "notification": {"body": "x"}}"#)
            }
            for audience in [#"{"installations": ["phone"]}"#, #"{"users": ["u"]}"#] {
                #expect(try await send(audience, named) == 202)
                #expect(try await send(audience, all) == 403)
            }
            for audience in [#"{"all": true}"#, #"{"tags": {"any": ["news"]}}"#] {
                #expect(try await send(audience, named) == 403)
                #expect(try await send(audience, all) == 202)
            }
        }
    }

    @Test("shows whole tokens only with the scope tokens")
    func tokens() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await world.expect(201, "PUT", app + "/devices/phone", GatewayWorld.registration(1))
            let whole = GatewayWorld.token(1)
            for (scopes, isWhole) in [(#""devices", "tokens""#, true), (#""devices""#, false), (#""admin""#, false)] {
                let key = try await make(world, app + "/keys", scopes, name: "s\(scopes.count)").key
                for path in ["/devices", "/devices/phone"] {
                    let reply = try await world.call("GET", app + path, key: key)
                    #expect(reply.text.contains(whole) == isWhole, "\(scopes) at \(path)")
                }
            }
            #expect(try await !world.expect(200, "GET", app + "/devices/phone").text.contains(whole))
        }
    }

    @Test("appears in full only when it is created, and stops working once it is revoked")
    func lifecycle() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let (id, key) = try await make(world, app + "/keys", #""devices", "feedback""#, name: "backend")
            #expect(key.hasPrefix("carillon_"))
            #expect(try await status(world, "GET", app + "/devices", key) == 200)
            let list = try await world.expect(200, "GET", app + "/keys")
            #expect(!list.text.contains(key))
            let item = try #require(list.member("items")?.array?.first?.object)
            #expect(item["id"]?.string == id && item["name"]?.string == "backend" && item["app"]?.string == "tower")
            #expect(item["hint"]?.string == String(key.suffix(4)))
            #expect(item["scopes"]?.array?.compactMap(\.string) == ["devices", "feedback"])
            try await world.refuse(
                .keyNameTaken, "POST", app + "/keys", #"{"name": "backend", "scopes": ["devices"]}"#, pointer: "/name")
            try await world.refuse(.unknownKey, "DELETE", "/v1/keys/" + id)
            try await world.expect(204, "DELETE", app + "/keys/" + id)
            let refused = try await world.call("GET", app + "/devices", key: key)
            #expect(refused.status == 401)
            #expect(!refused.text.contains(key))
            try await world.refuse(.unknownKey, "DELETE", app + "/keys/" + id)
            #expect(try await world.expect(200, "GET", app + "/keys").member("items")?.array?.isEmpty == true)
        }
    }

    @Test("has its last use noted by upkeep, at most once an hour")
    func lastUse() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/keys"
            let made = try await make(world, path, #""feedback""#)
            let authenticator = APIKeyAuthenticator(
                operatorSHA256: world.services.adminKeySHA256, store: world.stores.keys,
                clock: world.services.context.clock)
            func use() async throws -> String? {
                // The operator's key makes no row, and is never noted.
                for key in [GatewayWorld.key, made.key] {
                    _ = try await authenticator.caller(authorization: ["Bearer " + key])
                }
                try await authenticator.noteUses()
                authenticator.forget()
                let keys = try await world.expect(200, "GET", path).member("items")?.array
                return keys?.first?.object?["last_used_at"]?.string
            }
            let (first, second) = (try #require(try await use()), try await use())
            #expect(first == second)
            try await world.pool.script("UPDATE api_keys SET last_used_at = last_used_at - interval '61 minutes'")
            #expect(try #require(try await use()) > first)
        }
    }

    @Test("opens no later app with the slug of its deleted app")
    func nextOfTheSlug() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let key = try await make(world, app + "/keys", #""devices", "keys""#).key
            #expect(try await status(world, "GET", app + "/devices", key) == 200)
            try await world.expect(202, "DELETE", app)
            try await world.makeApp()
            #expect(try await status(world, "GET", app + "/devices", key) == 401)
            let child = #"{"name": "child", "scopes": ["devices"]}"#
            #expect(try await status(world, "POST", app + "/keys", key, child) == 401)
            #expect(try await world.expect(200, "GET", app + "/keys").member("items")?.array?.isEmpty == true)
        }
    }

    @Test("creates keys that expire no later than itself, and none once it is revoked")
    func successors() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let end = "2099-01-01T00:00:00Z"
            let maker = try await make(
                world, app + "/keys", #""devices", "keys""#, name: "maker", members: #", "expires_at": "\#(end)""#)
            func child(_ name: String, _ members: String = "") async throws -> WireReply {
                let body = #"{"name": "\#(name)", "scopes": ["devices"]\#(members)}"#
                return try await world.call("POST", app + "/keys", body, key: maker.key)
            }
            for (name, asked) in [("endless", ""), ("later", #", "expires_at": "2199-01-01T00:00:00Z""#)] {
                let made = try await child(name, asked)
                #expect(try made.member("expires_at")?.string?.hasPrefix("2099-01-01") == true, "\(made.text)")
            }
            let sooner = try await child("sooner", #", "expires_at": "2098-01-01T00:00:00Z""#)
            #expect(try sooner.member("expires_at")?.string?.hasPrefix("2098") == true)
            // Another process revokes the key, which this process still remembers for a moment.
            try await world.pool.script("DELETE FROM api_keys WHERE id = \(maker.id)")
            let late = try await child("late")
            #expect(late.status == 401, "\(late.text)")
            let names = try await world.expect(200, "GET", app + "/keys").member("items")?.array
            #expect(names?.count == 3)
        }
    }

    @Test("names the key that created it, also after that one was revoked")
    func creator() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/keys"
            let maker = try await make(world, path, #""devices", "keys""#, name: "backend")
            let made = try await world.call("POST", path, #"{"name": "phones", "scopes": ["devices"]}"#, key: maker.key)
            #expect(try made.member("created_by") == "backend")
            try await world.expect(204, "DELETE", path + "/" + maker.id)
            try await make(world, path, #""feedback""#, name: "newsroom")
            let keys = try await world.expect(200, "GET", path).member("items")?.array ?? []
            #expect(keys.map { $0.object?["created_by"] } == ["backend", "admin key"])
        }
    }

    @Test("creates no key with more scopes than its own")
    func noClimbing() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let key = try await make(world, app + "/keys", #""keys", "devices""#).key
            func create(_ scopes: String) async throws -> WireReply {
                try await world.call(
                    "POST", app + "/keys", #"{"name": "n\#(scopes.count)", "scopes": [\#(scopes)]}"#, key: key)
            }
            #expect(try await create(#""devices""#).status == 201)
            for (more, scope) in [(#""devices", "tokens""#, "tokens"), (#""keys", "admin""#, "admin")] {
                let reply = try await create(more)
                #expect(reply.status == 403)
                #expect(try reply.member("pointer")?.string == "/scopes/1")
                #expect(try reply.member("detail")?.string?.contains("\"\(scope)\"") == true)
                #expect(try reply.member("missing_scopes")?.array?.compactMap(\.string) == [scope])
            }
        }
    }

    @Test("revokes itself and keys with no more scopes than its own, and no other key")
    func noShuttingOut() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let own = try await make(world, app + "/keys", #""keys", "devices""#, name: "own")
            let more = [
                (#""admin""#, "admin"), (#""devices", "tokens""#, "tokens"),
                (#""keys", "devices", "messages""#, "messages"),
            ]
            for (number, (scopes, missing)) in more.enumerated() {
                let other = try await make(world, app + "/keys", scopes, name: "other\(number)")
                let reply = try await world.call("DELETE", app + "/keys/" + other.id, key: own.key)
                #expect(reply.status == 403, "\(scopes)")
                #expect(try reply.member("code")?.string == "forbidden")
                #expect(try reply.member("missing_scopes")?.array?.compactMap(\.string) == [missing])
                #expect(try await status(world, "GET", app, other.key) == 200)
            }
            let everywhere = try await make(world, "/v1/keys", #""keys""#)
            #expect(try await status(world, "DELETE", app + "/keys/" + own.id, everywhere.key) == 403)
            for scopes in [#""devices""#, #""keys", "devices""#] {
                let less = try await make(world, app + "/keys", scopes, name: scopes.filter(\.isLetter))
                #expect(try await status(world, "DELETE", app + "/keys/" + less.id, own.key) == 204)
            }
            // A key may revoke itself, so that anyone who finds a leaked key can disable it.
            #expect(try await status(world, "DELETE", app + "/keys/" + own.id, own.key) == 204)
        }
    }

    @Test("gets a 401 with a reason if it is cut off, mistyped or unknown")
    func malformed() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            let key = try await make(world, app + "/keys", #""devices""#).key
            let middle = key.index(key.startIndex, offsetBy: 20)
            var mistyped = key
            mistyped.replaceSubrange(middle...middle, with: key[middle] == "A" ? "B" : "A")
            for wrong in [String(key.dropLast()), key + "A", mistyped] {
                let reply = try await world.call("GET", app + "/devices", key: wrong)
                #expect(reply.status == 401)
                #expect(try reply.member("detail")?.string?.contains("Copy it again") == true)
            }
            #expect(try await status(world, "GET", app + "/devices", String(repeating: "x", count: 300)) == 401)
        }
    }

    @Test(
        "needs a name, known scopes and an expiry in the future",
        arguments: [
            (#"{"scopes": ["devices"]}"#, ProblemCode.missingMember, "/name"),
            (#"{"name": "a"}"#, .missingMember, "/scopes"), (#"{"name": "a", "scopes": []}"#, .invalidValue, "/scopes"),
            (#"{"name": "a", "scopes": ["device"]}"#, .invalidValue, "/scopes/0"),
            (#"{"name": "a", "scopes": ["devices", "webhooks"]}"#, .notSupported, "/scopes/1"),
            (#"{"name": "a", "scopes": ["devices", "devices"]}"#, .invalidValue, "/scopes/1"),
            (#"{"name": "a", "scopes": "devices"}"#, .wrongType, "/scopes"),
            (
                #"{"name": "a", "scopes": ["devices"], "expires_at": "2020-01-01T00:00:00Z"}"#, .invalidValue,
                "/expires_at"
            ),
            (#"{"name": "a", "scopes": ["devices"], "expires_at": "soon"}"#, .invalidValue, "/expires_at"),
            (#"{"name": "a", "scopes": ["devices"], "app": "b"}"#, .unknownMember, "/app"),
        ])
    func refused(body: String, code: ProblemCode, pointer: String) async throws {
        try await withGateway { world in
            try await world.refuse(code, "POST", "/v1/keys", body, pointer: pointer)
        }
    }

    @Test("counts only as a single bearer token, however the scheme is written")
    func bearer() async throws {
        try await withGateway { world in
            let key = GatewayWorld.key
            func status(_ values: [String]) async throws -> Int {
                try await world.call("GET", "/v1/apps", key: nil, headers: values.map { "Authorization: " + $0 }).status
            }
            for scheme in ["Bearer", "bearer", "BEARER", "Bearer  "] {
                let opened = try await status(["\(scheme) \(key)"])
                #expect(opened == 200)
            }
            let wrong = [
                [], [""], ["Bearer"], ["Bearer "], ["Bearer   "], [key], ["Basic " + key], ["Bearer \(key)x"],
                ["Bearer " + key, "Bearer " + key], ["Bearer:" + key], ["Bearer " + key.dropLast()],
                ["Bearer " + key.uppercased()],
            ]
            for values in wrong {
                let refused = try await status(values)
                #expect(refused == 401, "\(values.count)")
            }
        }
    }
}
