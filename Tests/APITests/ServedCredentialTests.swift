import APNs
import Basis
import Credentials
import Encodings
import JSON
import Logging
import Model
import Postgres
import ProviderInterface
import Reactor
import Signing
import Store
import TLS
import Testing

@Suite("The credentials API")
struct ServedCredentialTests {
    private static func key(activate: Bool = false) throws -> (body: String, secret: String) {
        let pem = try ES256Key.generate().privatePEM()
        let secret = String(String(decoding: pem, as: UTF8.self).split(separator: "\n")[1])
        return (body(of: pem, activate: activate), secret)
    }

    private static func body(of pem: [UInt8], activate: Bool) -> String {
        let body = JSONValue.object(
            JSONObject([
                JSONMember("provider", "apns"), JSONMember("kind", "token"), JSONMember("environment", "both"),
                JSONMember("key_id", "ABCDE12345"), JSONMember("team_id", "TEAMID1234"),
                JSONMember("topics", ["com.example.app"]),
                JSONMember("p8", .string(String(decoding: pem, as: UTF8.self))),
                JSONMember("activate", .bool(activate)),
            ]))
        return String(decoding: body.bytes, as: UTF8.self)
    }

    @Test("stores, activates, retires and deletes a credential, and never returns its secret")
    func lifecycle() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let (body, secret) = try Self.key()
            let made = try await world.expect(201, "POST", path, body)
            let items = try #require(try made.member("items")?.array?.compactMap(\.object))
            #expect(items.compactMap { $0["environment"]?.string } == ["production", "sandbox"])
            #expect(items.allSatisfy { $0["state"] == "staged" && $0["key_id"] == "ABCDE12345" })
            #expect(items[0]["topics"] == ["com.example.app"])
            let id = try #require(items[0]["id"]?.string)
            let active = try await world.expect(200, "POST", "\(path)/\(id)/activate")
            #expect(try active.member("state") == "active")
            let listed = try await world.expect(200, "GET", path)
            for reply in [made, active, listed] {
                #expect(!reply.text.contains(secret))
                #expect(!reply.text.contains("PRIVATE"))
            }
            try await world.expect(204, "POST", "\(path)/\(id)/retire")
            let states = try await world.expect(200, "GET", path).member("items")?.array
            #expect(states?.contains { $0.object?["id"]?.string == id && $0.object?["state"] == "retired" } == true)
            try await world.expect(204, "DELETE", "\(path)/\(id)")
            try await world.refuse(.unknownCredential, "DELETE", "\(path)/\(id)")
        }
    }

    @Test("activates the credentials of both environments together or not at all")
    func bothOrNone() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            try await world.expect(201, "POST", path, try Self.key(activate: true).body)
            let old = try await world.expect(200, "GET", path)
            try await world.pool.script(Self.sandboxBlinks)
            let body = try Self.key(activate: true).body
            let key = ["Idempotency-Key: rotation-7"]
            try await world.refuse(.databaseUnavailable, "POST", path, body, headers: key)
            #expect(try await world.expect(200, "GET", path).body == old.body, "a failed upload changes nothing")
            try await world.pool.script("DROP TRIGGER blink ON credentials")
            let new = try await world.expect(201, "POST", path, body, headers: key)
            #expect(new.header("idempotency-replayed") == nil)
            #expect(try await Self.states(world, path) == ["retired", "retired", "active", "active"])
        }
    }

    /// The database fails between the first environment and the second.
    private static let sandboxBlinks = """
        CREATE FUNCTION blink() RETURNS trigger LANGUAGE plpgsql AS $$
        BEGIN
            IF NEW.environment = 2 AND NEW.state = 2 THEN RAISE EXCEPTION 'blink' USING ERRCODE = '57P01'; END IF;
            RETURN NEW;
        END $$;
        CREATE TRIGGER blink BEFORE INSERT OR UPDATE ON credentials FOR EACH ROW EXECUTE FUNCTION blink()
        """

    @Test("activates and retires a credential in both environments at once if that is requested")
    func both() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            try await world.expect(201, "POST", path, try Self.key(activate: true).body)
            let made = try await world.expect(201, "POST", path, try Self.key().body)
            let ids = try #require(try made.member("items")?.array?.compactMap { $0.object?["id"]?.string })
            let body = #"{"environment": "both"}"#
            let active = try await world.expect(200, "POST", "\(path)/\(ids[1])/activate", body)
            #expect(try active.member("id")?.string == ids[1])
            #expect(try active.member("sibling")?.object?["id"]?.string == ids[0])
            #expect(try active.member("sibling")?.object?["state"] == "active")
            #expect(try await Self.states(world, path) == ["retired", "retired", "active", "active"])
            let alone = try await world.expect(200, "POST", "\(path)/\(ids[0])/activate")
            #expect(try alone.member("sibling")?.isNull == true)
            try await world.expect(204, "POST", "\(path)/\(ids[0])/retire", body)
            #expect(try await Self.states(world, path).allSatisfy { $0 == "retired" })
        }
    }

    @Test("refuses a change in both environments of a credential that was submitted for one")
    func noSibling() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let body = try Self.key().body.replacing("\"both\"", with: "\"sandbox\"")
            let made = try await world.expect(201, "POST", path, body)
            try await world.expect(201, "POST", path, try Self.key().body)
            let id = try #require(try made.member("items")?.array?.first?.object?["id"]?.string)
            for action in ["activate", "retire"] {
                for environment in ["both", "production"] {
                    try await world.refuse(
                        .invalidValue, "POST", "\(path)/\(id)/\(action)", #"{"environment": "\#(environment)"}"#,
                        pointer: "/environment")
                }
            }
            #expect(try await Self.states(world, path).allSatisfy { $0 == "staged" })
        }
    }

    @Test("refuses to activate a certificate that has expired since it was submitted")
    func expired() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let app = try #require(try await world.stores.registry.app(slug: "tower")).id
            let now = Clocks.wallNow()
            let past = now + .seconds(-30 * 86_400)
            let pem = try CertificateAuthority(validity: .days(3_650, from: past)).issue(
                CertificateSubject(commonName: "Apple Push Services: com.example.app", userID: "com.example.app"),
                validity: .days(29, from: past)
            ).pem()
            let text = String(decoding: pem, as: UTF8.self)
            let apns = #""provider": "apns", "kind": "certificate", "environment": "production""#
            let body = #"{\#(apns), "pem": \#(String(decoding: JSONValue.string(text).bytes, as: UTF8.self))}"#
            try await world.refuse(.certificateExpired, "POST", path, body)
            let id = try await world.stores.credentials.nextIDs(1)[0]
            let vault = try Vault(masterKey: Array(repeating: 7, count: Vault.keyBytes))
            let sealed = try vault.seal(
                JSONValue.object(JSONObject([JSONMember("pem", .string(text))])).bytes,
                purpose: "credential/\(id.value)/\(app.value)/production")
            let old = NewCredential(
                id: id, app: app, provider: .apns, environment: .production, kind: .certificate,
                topics: ["com.example.app"], facts: Array("{}".utf8), sealed: sealed)
            _ = try await world.stores.credentials.insert([old], app: app, activate: false, once: nil) { _ in [] }
            try await world.refuse(.certificateExpired, "POST", "\(path)/\(id.value)/activate")
            #expect(try await Self.states(world, path) == ["staged"])
        }
    }

    @Test("shows why and since when a provider refuses a credential")
    func refusedByProvider() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            try await world.expect(201, "POST", path, try Self.key(activate: true).body)
            let app = try #require(try await world.stores.registry.app(slug: "tower")).id
            let refused = try await world.stores.credentials.list(app: app)[0].id
            try await world.stores.credentials.block(refused, reason: "InvalidProviderToken", for: .seconds(3_600))
            let items = try await world.expect(200, "GET", path).member("items")?.array ?? []
            #expect(items[0].object?["refused"]?.object?["reason"] == "InvalidProviderToken")
            #expect(items[0].object?["refused"]?.object?["since"]?.string != nil)
            #expect(items[1].object?["refused"]?.isNull == true)
        }
    }

    @Test("warns of topics that only the credential or only the devices have")
    func warnings() async throws {
        try await withGateway { world in
            let app = try await world.makeApp()
            try await world.expect(201, "PUT", app + "/devices/phone", GatewayWorld.registration(1))
            let body = try Self.key().body.replacing("com.example.app", with: "com.example.ap")
            let made = try await world.expect(201, "POST", app + "/credentials", body)
            let id = try #require(try made.member("items")?.array?.first?.object?["id"]?.string)
            let active = try await world.expect(200, "POST", "\(app)/credentials/\(id)/activate")
            for reply in [made, active] {
                let warnings = try reply.member("warnings")?.array?.compactMap(\.object) ?? []
                #expect(
                    warnings.compactMap { $0["code"]?.string } == ["topic_without_devices", "topic_without_credential"])
                #expect(warnings[0]["detail"]?.string?.contains("com.example.ap,") == true)
                #expect(warnings[1]["detail"]?.string?.contains("com.example.app,") == true)
            }
            let right = try await world.expect(201, "POST", app + "/credentials", try Self.key().body)
            #expect(try right.member("warnings")?.array?.isEmpty == true)
        }
    }

    private static func states(_ world: GatewayWorld, _ path: String) async throws -> [String] {
        let items = try await world.expect(200, "GET", path).member("items")?.array ?? []
        return items.compactMap { $0.object?["state"]?.string }
    }

    @Test("repeats the first answer to the same Idempotency-Key, without a second effect")
    func once() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let key = ["Idempotency-Key: rotation-1"]
            let body = try Self.key(activate: true).body
            let first = try await world.expect(201, "POST", path, body, headers: key)
            // The credential was retired since: the repetition must not activate it again.
            let id = try #require(try first.member("items")?.array?.first?.object?["id"]?.string)
            try await world.expect(204, "POST", "\(path)/\(id)/retire")
            let second = try await world.expect(201, "POST", path, body, headers: key)
            #expect(second.body == first.body)
            #expect(second.header("idempotency-replayed") == "true")
            #expect(try await Self.states(world, path) == ["retired", "active"])
            try await world.refuse(.idempotencyMismatch, "POST", path, body + " ", headers: key)
            let stored = Statement(unprepared: "SELECT answer FROM idempotency_keys")
            let answer = try await world.pool.read(Query(stored)).one { row throws(PostgresError) in try row.bytes() }
            #expect(!String(decoding: answer, as: UTF8.self).contains("PRIVATE"))
        }
    }

    @Test("takes simultaneous requests with one Idempotency-Key as one request")
    func duplicates() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let body = try Self.key(activate: true).body
            let replies = try await withThrowingTaskGroup(of: WireReply.self) { group in
                for _ in 0..<6 {
                    group.addTask {
                        try await world.expect(201, "POST", path, body, headers: ["Idempotency-Key: twin"])
                    }
                }
                return try await group.reduce(into: [WireReply]()) { $0.append($1) }
            }
            #expect(Set(replies.map(\.text)).count == 1)
            #expect(try await Self.states(world, path) == ["active", "active"])
        }
    }

    @Test("leaves one credential active per environment after simultaneous activations")
    func race() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let bodies = try (0..<6).map { _ in try Self.key(activate: true).body }
            try await withThrowingTaskGroup(of: Void.self) { group in
                for body in bodies { group.addTask { try await world.expect(201, "POST", path, body) } }
                try await group.waitForAll()
            }
            #expect(try await Self.states(world, path).count { $0 == "active" } == 2)
        }
    }

    @Test("retires a credential once, however often that is requested")
    func retiredTwice() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let made = try await world.expect(201, "POST", path, try Self.key(activate: true).body)
            let id = try #require(try made.member("items")?.array?.first?.object?["id"]?.string)
            try await world.expect(204, "POST", "\(path)/\(id)/retire")
            let retired = try await world.expect(200, "GET", path)
            try await world.expect(204, "POST", "\(path)/\(id)/retire")
            #expect(try await world.expect(200, "GET", path).body == retired.body)
        }
    }

    @Test("refuses to open a sealed credential from another row")
    func boundToTheirRow() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            for _ in 0..<2 { try await world.expect(201, "POST", path, try Self.key().body) }
            let app = try #require(try await world.stores.registry.app(slug: "tower")).id
            let before = try await world.stores.credentials.list(app: app)
            for record in before { _ = try await world.service.credential(of: record) }
            try await world.pool.script(
                """
                UPDATE credentials own SET sealed = other.sealed FROM credentials other
                WHERE own.id <> other.id AND own.environment = other.environment
                """)
            for record in try await world.stores.credentials.list(app: app) {
                await #expect(throws: CredentialFault.vault(.doesNotOpen)) {
                    try await world.service.credential(of: record)
                }
            }
        }
    }

    @Test("seals keys and provider tokens, so that the database holds no secret in plain")
    func sealedAtRest() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let key = try ES256Key.generate()
            let pem = try key.privatePEM()
            let lines = String(decoding: pem, as: UTF8.self).split(separator: "\n").filter { !$0.hasPrefix("-") }
            let der = try #require(Base64.decode(lines.joined()))
            try await world.expect(201, "POST", path, Self.body(of: pem, activate: true))
            let form = SubmittedForm(
                .token, [("key_id", Array("ABCDE12345".utf8)), ("team_id", Array("TEAMID1234".utf8)), ("p8", pem)])
            let endpoint = ProviderEndpoint(
                provider: .apns, environment: .production, host: "api.push.apple.com", port: 443)
            let lane = try APNsProvider().readCredential(form, OpenedKeys()).lane(topics: [], at: endpoint)
            guard case .providerToken(let source) = lane.authorization else {
                preconditionFailure("a key signs provider tokens")
            }
            let token = try world.service.providerToken(source, log: Logger(label: "sealed-at-rest"))
            await token.freshen()
            let bearer = try #require(token.current).value
            let columns = "SELECT sealed FROM credentials UNION ALL SELECT sealed FROM provider_tokens"
            let rows = try await world.pool.read(Query(Statement(unprepared: columns))).map {
                row throws(PostgresError) in try row.bytes()
            }
            #expect(rows.count == 3)
            for (row, sealed) in rows.enumerated() {
                for secret in [pem, der, bearer] {
                    #expect(!Self.share(secret, sealed), "row \(row) contains a secret")
                }
            }
        }
    }

    /// Whether the two share eight bytes in a row, which unrelated bytes never do in practice.
    private static func share(_ left: [UInt8], _ right: [UInt8]) -> Bool {
        func parts(_ bytes: [UInt8]) -> Set<ArraySlice<UInt8>> {
            Set(bytes.indices.dropLast(7).map { bytes[$0..<$0 + 8] })
        }
        return !parts(left).isDisjoint(with: parts(right))
    }

    @Test("refuses another master key than the one in use")
    func otherMasterKey() async throws {
        try await withGateway { world in
            try await world.service.proveMasterKey()
            let vault = try Vault(masterKey: Array(repeating: 8, count: Vault.keyBytes))
            let other = CredentialService(
                store: world.stores.credentials, vault: vault, tokenEndpoint: NoTokenEndpoint(),
                targets: .outside)
            await #expect(throws: CredentialFault.vault(.doesNotOpen)) { try await other.proveMasterKey() }
            try await world.service.proveMasterKey()
        }
    }

    @Test("answers unknown_credential for another app's credential and for malformed ids")
    func foreign() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let made = try await world.expect(201, "POST", path, try Self.key().body)
            let id = try #require(try made.member("items")?.array?.first?.object?["id"]?.string)
            let other = try await world.makeApp("other") + "/credentials"
            for (method, end) in [("POST", "/activate"), ("POST", "/retire"), ("DELETE", "")] {
                try await world.refuse(.unknownCredential, method, "\(other)/\(id)\(end)")
                for wrong in ["0", "-1", "x", "99999999999999999999", "1.0"] {
                    try await world.refuse(.unknownCredential, method, "\(path)/\(wrong)\(end)")
                }
            }
        }
    }

    @Test("refuses an invalid credential with a pointer, without repeating its secret")
    func refused() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let token = #"{"provider": "apns", "kind": "token", "environment": "both", "team_id": "TEAMID1234""#
            try await world.refuse(
                .keyIDMalformed, "POST", path, token + #", "key_id": "short", "p8": "x"}"#, pointer: "/key_id")
            let reply = try await world.refuse(
                .keyUnreadable, "POST", path, token + #", "key_id": "ABCDE12345", "p8": "c2VjcmV0"}"#, pointer: "/p8")
            #expect(!reply.text.contains("c2VjcmV0"))
            let certificate = #"{"provider": "apns", "kind": "certificate", "environment": "sandbox", "pem": "x"}"#
            try await world.refuse(.certificateUnreadable, "POST", path, certificate, pointer: "/pem")
            #expect(try await world.expect(200, "GET", path).text == #"{"items":[],"next":null}"#)
        }
    }
}
