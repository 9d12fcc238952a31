import Credentials
import JSON
import Requests
import Signing
import Testing

@Suite("The service account API")
struct ServedServiceAccountTests {
    private static func account(_ changes: [String: JSONValue] = [:]) throws -> (object: JSONValue, secret: String) {
        let pem = String(decoding: try RS256Key.generate().privatePEM(), as: UTF8.self)
        let names = ["type", "project_id", "private_key_id", "private_key", "client_email", "token_uri", "client_id"]
        let usual: [String: JSONValue] = [
            "type": "service_account", "project_id": "tower-1", "private_key_id": "0123456789abcdef",
            "private_key": .string(pem), "client_email": "push@tower-1.iam.gserviceaccount.com",
            "token_uri": "https://oauth2.googleapis.com/token", "client_id": "1234",
        ]
        let members = names.map { JSONMember($0, changes[$0] ?? usual[$0] ?? .null) }
        return (.object(JSONObject(members)), String(pem.split(separator: "\n")[1]))
    }

    private static func body(_ account: JSONValue, _ more: [JSONMember] = []) -> String {
        let members = [JSONMember("provider", "fcm"), JSONMember("kind", "service_account")] + more
        let object = JSONObject(members + [JSONMember("service_account", account)])
        return String(decoding: JSONValue.object(object).bytes, as: UTF8.self)
    }

    @Test("stores and activates a service account, and never returns its key")
    func lifecycle() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let (account, secret) = try Self.account()
            let made = try await world.expect(
                201, "POST", path, Self.body(account, [JSONMember("activate", .bool(true))]))
            let item = try #require(try made.member("items")?.array?.first?.object)
            #expect(item["provider"] == "fcm" && item["kind"] == "service_account" && item["state"] == "active")
            #expect(item["environment"] == "production" && item["project_id"] == "tower-1")
            #expect(item["client_email"] == "push@tower-1.iam.gserviceaccount.com")
            for reply in [made, try await world.expect(200, "GET", path)] {
                #expect(!reply.text.contains(secret) && !reply.text.contains("PRIVATE"))
            }
        }
    }

    @Test("seals the plain key, in whatever form it was submitted")
    func sealedPlain() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let pkcs8 = String(decoding: try RS256Key.generate().privatePEM(), as: UTF8.self)
            // OpenSSL finds the key whatever text surrounds it and whatever its PEM label is.
            let handedIn = "Bag Attributes\n" + pkcs8.replacing("PRIVATE KEY", with: "RSA PRIVATE KEY")
            let account = try Self.account(["private_key": .string(handedIn)]).object
            try await world.expect(201, "POST", path, Self.body(account))
            let app = try #require(try await world.stores.registry.app(slug: "tower")).id
            let record = try #require(try await world.stores.credentials.list(app: app).first)
            let vault = try Vault(masterKey: Array(repeating: 7, count: Vault.keyBytes))
            let sealed = try vault.open(
                record.sealed, purpose: "credential/\(record.id.value)/\(app.value)/production")
            let key = try JSONReader.read(sealed).object?["service_account"]?.object?["private_key"]?.string
            #expect(key == pkcs8)
            _ = try await world.service.credential(of: record)
        }
    }

    @Test(
        "refuses a token_uri that points into a private network",
        arguments: [
            "http://oauth2.googleapis.com/token", "https://localhost/token", "https://127.0.0.1:8443/token",
            "https://169.254.169.254/token", "https://[::1]/token", "https://10.1.2.3/token",
            "https://127.1/token", "https://2130706433/token", "https://metadata.google.internal/token",
        ])
    func privateTarget(url: String) async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let body = Self.body(try Self.account(["token_uri": .string(url)]).object)
            try await world.refuse(.tokenURIPrivate, "POST", path, body, pointer: "/service_account")
        }
    }

    @Test("refuses an invalid service account with a pointer, without repeating its values")
    func refused() async throws {
        try await withGateway { world in
            let path = try await world.makeApp() + "/credentials"
            let encrypted =
                "-----BEGIN ENCRYPTED PRIVATE KEY-----\nMIIEvQ==\n-----END ENCRYPTED PRIVATE KEY-----\n"
            let wrong: [(member: String, value: JSONValue, code: ProblemCode)] = [
                ("private_key", "c2VjcmV0", .keyUnreadable), ("private_key", .string(encrypted), .keyEncrypted),
                ("project_id", "../other", .invalidValue),
                ("client_email", 7, .wrongType), ("type", "authorized_user", .invalidValue),
                ("client_email", .null, .missingMember),
            ]
            for (member, value, code) in wrong {
                let body = Self.body(try Self.account([member: value]).object)
                let reply = try await world.refuse(
                    code, "POST", path, body, pointer: "/service_account/\(member)")
                #expect(!reply.text.contains("c2VjcmV0") && !reply.text.contains("../other"))
            }
            let sandbox = Self.body(try Self.account().object, [JSONMember("environment", "sandbox")])
            try await world.refuse(.invalidValue, "POST", path, sandbox, pointer: "/environment")
            try await world.refuse(
                .missingMember, "POST", path, #"{"provider": "fcm", "kind": "service_account"}"#,
                pointer: "/service_account")
            #expect(try await world.expect(200, "GET", path).text == #"{"items":[],"next":null}"#)
        }
    }
}
