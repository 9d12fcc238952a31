import JSON
import Logging
import Signing
import Synchronization
import Testing

@Suite("The log of a running gateway's administration")
struct AdministrationLogTests {
    @Test("names what was done to a credential, by which API key, and never a secret")
    func credentials() async throws {
        let log = AdministrationLines()
        try await withGateway(log: log.logger) { world in
            let app = try await world.makeApp()
            let key = try await world.expect(
                201, "POST", app + "/keys", #"{"name": "rotation", "scopes": ["credentials"]}"#)
            let bearer = try #require(try key.member("key")?.string)
            let keyID = try #require(try key.member("id")?.string)
            let pem = try ES256Key.generate().privatePEM()
            let made = try await world.call("POST", app + "/credentials", Self.body(of: pem), key: bearer)
            let id = try #require(try made.member("items")?.array?.first?.object?["id"]?.string)
            for action in ["activate", "retire"] {
                _ = try await world.call("POST", "\(app)/credentials/\(id)/\(action)", key: bearer)
            }
            try await world.expect(204, "DELETE", "\(app)/credentials/\(id)")

            let fields = "credential=\(id) environment=sandbox key=ABCDE12345 provider=apns"
            #expect(
                log.about("Credential") == [
                    "Credential submitted app=tower by=rotation by_key_id=\(keyID) \(fields)",
                    "Credential activated app=tower by=rotation by_key_id=\(keyID) \(fields)",
                    "Credential retired app=tower by=rotation by_key_id=\(keyID) \(fields)",
                    "Credential deleted app=tower by=admin key by_key_id=operator \(fields)",
                ])
            #expect(!log.text.contains(bearer) && !log.text.contains("PRIVATE"))
            #expect(!log.text.contains(String(decoding: pem, as: UTF8.self).split(separator: "\n")[1]))
        }
    }

    @Test("names the keys that were made and revoked, and by which key")
    func keys() async throws {
        let log = AdministrationLines()
        try await withGateway(log: log.logger) { world in
            let app = try await world.makeApp()
            let made = try await world.expect(
                201, "POST", app + "/keys", #"{"name": "backend", "scopes": ["devices", "messages"]}"#)
            let id = try #require(try made.member("id")?.string)
            try await world.expect(204, "DELETE", "\(app)/keys/\(id)")
            let fields = "app=tower by=admin key by_key_id=operator key_id=\(id) name=backend scopes=devices,messages"
            #expect(log.about("API key") == ["API key created \(fields)", "API key revoked \(fields)"])
            let key = try #require(try made.member("key")?.string)
            #expect(!log.text.contains(key))
        }
    }

    @Test("names apps, rules, users' keys, erasures and revocations that were changed, but no user")
    func apps() async throws {
        let log = AdministrationLines()
        try await withGateway(log: log.logger) { world in
            let app = try await world.makeApp()
            try await world.expect(200, "PATCH", app, #"{"name": "The tower"}"#)
            try await world.expect(204, "PUT", app + "/rules", #"{"rules": {".read": true}}"#)
            let secret = "c2VjcmV0LXNlY3JldC1zZWNyZXQtc2VjcmV0LXNlY3JldA"
            try await world.expect(
                201, "POST", app + "/user-keys", #"{"kid": "k1", "algorithm": "HS256", "key": "\#(secret)"}"#)
            try await world.expect(204, "DELETE", app + "/user-keys/k1")
            try await world.expect(200, "DELETE", app + "/users/ada-lovelace")
            try await world.expect(202, "DELETE", app + "/wakeup/subscriptions?path=/of/ada-lovelace")
            try await world.expect(202, "DELETE", app + "/wakeup/subscriptions?state=dormant")
            try await world.expect(202, "DELETE", app)
            let fields = "app=tower by=admin key by_key_id=operator"
            #expect(
                log.about("App ") == [
                    "App created \(fields)", "App settings changed \(fields)", "App deleted \(fields)",
                ])
            #expect(log.about("Read rules") == ["Read rules set \(fields)"])
            #expect(log.about("User key") == ["User key added \(fields) kid=k1", "User key removed \(fields) kid=k1"])
            #expect(log.about("User erased") == ["User erased \(fields) registrations=0"])
            #expect(
                log.about("Wake-up") == [
                    "Wake-up subscriptions revoked app=tower by=admin key by_key_id=operator by_path=true state=any",
                    "Wake-up subscriptions revoked app=tower by=admin key by_key_id=operator by_path=false state=dormant",
                ])
            #expect(!log.text.contains(secret) && !log.text.contains("ada-lovelace"))
        }
    }

    private static func body(of pem: [UInt8]) -> String {
        let body = JSONValue.object(
            JSONObject([
                JSONMember("provider", "apns"), JSONMember("kind", "token"), JSONMember("environment", "sandbox"),
                JSONMember("key_id", "ABCDE12345"), JSONMember("team_id", "TEAMID1234"),
                JSONMember("topics", ["com.example.app"]),
                JSONMember("p8", .string(String(decoding: pem, as: UTF8.self))),
            ]))
        return String(decoding: body.bytes, as: UTF8.self)
    }
}

/// Records a log's lines as the message and its fields, sorted by name.
private final class AdministrationLines: Sendable {
    private let lines = Mutex<[String]>([])

    var logger: Logger { Logger(label: "administration-test") { _ in Handler(lines: self) } }
    var text: String { lines.withLock { $0.joined(separator: "\n") } }

    /// The lines with this beginning, in their order.
    func about(_ beginning: String) -> [String] { lines.withLock { $0.filter { $0.hasPrefix(beginning) } } }

    private struct Handler: LogHandler {
        let lines: AdministrationLines
        var logLevel = Logger.Level.info
        var metadata: Logger.Metadata = [:]

        subscript(metadataKey name: String) -> Logger.MetadataValue? {
            get { metadata[name] }
            set { metadata[name] = newValue }
        }

        func log(event: LogEvent) {
            let fields = (event.metadata ?? [:]).sorted { $0.key < $1.key }.map { " \($0.key)=\($0.value)" }
            lines.lines.withLock { $0.append("\(event.message)" + fields.joined()) }
        }
    }
}
