import JSON
import Model
import Postgres
import Signing
import TestSupport
import Testing
import WakeUpRules

@Suite("Reading a node without an API key")
struct ServedReadRuleTests {
    private static let secret = Array("a secret of more than thirty-two bytes".utf8)
    private static let rules = "/v1/apps/tower/rules"

    /// A token of a user, signed with HS256.
    private static func token(_ claims: String) throws -> String {
        let parts = [#"{"alg":"HS256","kid":"main"}"#, claims].map { ServedWakeUpTests.base64(Array($0.utf8)) }
        let signed = parts.joined(separator: ".")
        return signed + "." + ServedWakeUpTests.base64(try HS256Key(secret: secret).sign(Array(signed.utf8)))
    }

    private static func withApp(_ rules: String, _ body: (GatewayWorld) async throws -> Void) async throws {
        try await withGateway { world in
            try await world.makeApp()
            try await world.expect(200, "PATCH", "/v1/apps/tower", #"{"wakeup": {"enabled": true}}"#)
            let key = ServedWakeUpTests.base64(secret)
            try await world.expect(
                201, "POST", "/v1/apps/tower/user-keys", #"{"kid": "main", "algorithm": "HS256", "key": "\#(key)"}"#)
            try await world.expect(204, "PUT", Self.rules, #"{"rules": \#(rules)}"#)
            try await body(world)
        }
    }

    private static func status(_ world: GatewayWorld, _ path: String, _ user: String? = nil) async throws -> Int {
        try await world.call("GET", "/base/tower\(path).json", key: user).status
    }

    private static func query(_ sql: String) -> Query { Query(Statement(unprepared: sql)) }

    @Test("fails where the rule compares a missing owner with a user who is missing too")
    func missing() async throws {
        let rules = #"""
            {"docs": {"$doc": {".read": "auth.sub == data.owner"}},
             "owned": {"$doc": {".read": "root.owners[$doc] == auth.sub"}},
             "org": {"$doc": {".read": "auth.org == data.org || auth.sub == 'admin'"}},
             "open": {".read": "auth == null || auth.sub == 'ann'"}}
            """#
        try await Self.withApp(rules) { world in
            try await world.expect(
                204, "PUT", "/base/tower/.json",
                #"""
                {"docs": {"a": {"t": "secret"}, "b": {"owner": "ann", "t": "hers"}}, "owners": {"b": "ann"},
                 "owned": {"a": "secret", "b": "hers"}, "org": {"a": {"t": "secret"}}, "open": 1}
                """#)
            let (ann, nameless) = (try Self.token(#"{"sub": "ann", "org": null}"#), try Self.token(#"{"org": null}"#))
            let admin = try Self.token(#"{"sub": "admin"}"#)
            for (path, user, status) in [
                ("/docs/a", nil, 403), ("/docs/a", ann, 403), ("/docs/a", nameless, 403), ("/docs/b", ann, 200),
                ("/docs/b", nil, 403), ("/docs/b", nameless, 403), ("/owned/a", nil, 403), ("/owned/a", nameless, 403),
                ("/owned/a", ann, 403), ("/owned/b", ann, 200), ("/org/a", nil, 403), ("/org/a", ann, 403),
                ("/org/a", admin, 200), ("/open", nil, 200), ("/open", ann, 200), ("/open", nameless, 403),
            ] {
                #expect(try await Self.status(world, path, user) == status, "\(path) \(user ?? "without a token")")
            }
            for path in ["docs/a", "owned/a", "org/a"] {
                let reply = try await world.call("PUT", "/base/tower/.wakeup/\(path)?id=device-token-0000", key: nil)
                #expect(reply.status == 403, "\(path)")
            }
        }
    }

    @Test("lets nobody subscribe by rules that another process has changed")
    func changedElsewhere() async throws {
        try await Self.withApp(#"{".read": true}"#) { world in
            func subscribe(_ path: String) async throws -> Int {
                try await world.call("PUT", "/base/tower/.wakeup/\(path)?id=device-token-0000", key: nil).status
            }
            #expect(try await subscribe("a") == 204)
            try await world.pool.script(
                "UPDATE node_rules SET source = '{\"b\": {\".read\": true}}', revision = revision + 1")
            #expect(try await subscribe("a") == 403)
            #expect(try await subscribe("c") == 403)
            #expect(try await subscribe("b") == 204)
        }
    }

    @Test("uses rules that are parsed once, and again only if their revision has changed")
    func parsedOnce() async throws {
        try await Self.withApp(#"{".read": true}"#) { world in
            let app = try #require(try await world.stores.registry.app(slug: "tower")).id
            func status() async throws -> Int {
                world.services.readAccess.forget(app)
                return try await Self.status(world, "/a")
            }
            #expect(try await status() == 200)
            try await world.pool.script("UPDATE node_rules SET source = '{\".read\": false}'")
            #expect(try await status() == 200, "the revision is known")
            try await world.pool.script("UPDATE node_rules SET revision = revision + 1")
            #expect(try await status() == 403)
            try await world.expect(204, "PUT", Self.rules, #"{"rules": {".read": true}}"#)
            #expect(try await Self.status(world, "/a") == 200)
        }
    }

    @Test("shares one reading of the rules among all that come meanwhile, until a change")
    func oneReader() async throws {
        try await Self.withApp(#"{".read": true}"#) { world in
            let app = try #require(try await world.stores.registry.app(slug: "tower")).id
            let access = world.services.readAccess
            let waiting = """
                SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'
                """
            let answers = try await world.pool.transaction { transaction throws(PostgresError) in
                _ = try await transaction.run(Self.query("LOCK TABLE node_rules IN ACCESS EXCLUSIVE MODE"))
                access.forget(app)
                let readers = (0..<50).map { _ in
                    Task { try await access.mayRead(NodePath(stored: "/a"), user: nil, app: app) }
                }
                while try await world.pool.number(waiting) < 1 { await Task.yield() }
                // Readers that do not share would fill the pool within these round trips.
                var most = 0
                for _ in 0..<30 { most = max(most, try await world.pool.number(waiting)) }
                #expect(most == 1)
                access.forget(app)
                let later = Task { try await access.mayRead(NodePath(stored: "/a"), user: nil, app: app) }
                while try await world.pool.number(waiting) < 2 { await Task.yield() }
                _ = try await transaction.runAndCommit([Self.query("SELECT 1")])
                return readers + [later]
            }
            for answer in answers { #expect(try await answer.value) }
        }
    }
}
