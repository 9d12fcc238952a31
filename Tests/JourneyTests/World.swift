import APNs
import Basis
import Foundation
import Postgres
import PrivatePostgres
import Reactor
import Signing
import Simulator
import TLS
import TestSupport
import Testing

/// Everything around a gateway: a database, an APNs for production and one for the sandbox, and gateways that start and
/// stop. App "garden" is in production, "forest" in the sandbox, each with its own credential.
final class World: Sendable {
    let production: StandIn
    let sandbox: StandIn
    let google: GoogleStandIn
    let authority: CertificateAuthority
    let folder: URL
    private let database: Database
    private let signingKey: ES256Key
    private let adminKey = String(repeating: "admin-key-of-a-test-", count: 2)
    /// The text in the body of each push.
    static let text = "Twelve o'clock, and not for the log"
    private static let masterKey = (0..<32).map { UInt8($0) }
    let settings: [String: String]

    enum Database {
        /// The gateway's own private PostgreSQL: the default of the product.
        case gatewaysOwn
        /// A database on the tests' server.
        case on(DatabaseServer, name: String)
    }

    /// - Parameter settings: `CARILLON_...` names without the prefix; they override the world's own.
    /// - Parameter server: nil lets the gateway run its own.
    /// - Parameter isEncrypted: whether gateways speak TLS, with a certificate of the world's authority (`ca.pem`).
    static func within(
        settings: [String: String] = [:], server: DatabaseServer? = DatabaseServer.shared,
        production traits: StandIn.Traits = StandIn.Traits(), accessTokenSeconds: Int = 3_599,
        isEncrypted: Bool = false, _ body: (World) async throws -> Void
    ) async throws {
        try await TestFolder.within { folder in
            let world = try await World(folder, settings, server, traits, accessTokenSeconds, isEncrypted)
            let outcome: Result<Void, any Error>
            do { outcome = .success(try await body(world)) } catch { outcome = .failure(error) }
            await world.production.simulator.stop()
            await world.sandbox.simulator.stop()
            await world.google.simulator.stop()
            await world.stopGatewaysServer()
            defer { RunEvidence.keep(logsBelow: folder.path(percentEncoded: false)) }
            try outcome.get()
            let secrets = try world.leakedSecrets()
            #expect(secrets == [], "the gateways' logs contain no secrets")
        }
    }

    private init(
        _ folder: URL, _ settings: [String: String], _ server: DatabaseServer?, _ traits: StandIn.Traits,
        _ accessTokenSeconds: Int, _ isEncrypted: Bool
    ) async throws {
        self.folder = folder
        func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }
        authority = try CertificateAuthority(validity: .days(2, from: Clocks.wallNow()))
        production = try await StandIn(authority, traits)
        sandbox = try await StandIn(authority, environment: .sandbox)
        google = try await GoogleStandIn(authority, accessTokenSeconds: accessTokenSeconds)
        signingKey = try ES256Key.generate()
        try Data(authority.pem).write(to: folder.appending(path: "ca.pem"))
        try Data(Self.masterKey).write(to: folder.appending(path: "master.key"))
        var all = [
            "MASTER_KEY_FILE": path("master.key"), "ADMIN_KEY": adminKey, "DATA_DIR": path("d"),
            "LISTEN": "127.0.0.1:0", "PROVIDER_CA_FILE": path("ca.pem"), "APNS_PRODUCTION_URL": production.url,
            "APNS_SANDBOX_URL": sandbox.url, "FCM_URL": google.url, "ALLOW_PRIVATE_TARGETS": "true",
        ]
        if let server {
            let name = "world_\(UUID().uuidString.replacing("-", with: "").lowercased())"
            try await server.makeDatabase(name)
            all["DATABASE_URL"] = server.url(name)
            database = .on(server, name: name)
        } else {
            database = .gatewaysOwn
        }
        if isEncrypted {
            let identity = try authority.issue(
                CertificateSubject(commonName: "localhost"), names: ["127.0.0.1"],
                validity: .days(2, from: Clocks.wallNow()))
            try Data(try identity.pem()).write(to: folder.appending(path: "server.pem"))
            all["TLS_CERTIFICATE"] = path("server.pem")
            all["TLS_KEY"] = path("server.pem")
        }
        all.merge(settings) { _, new in new }
        self.settings = all
        RunEvidence.secrets(try secrets + [Self.text])
    }

    /// Starts a gateway. The settings override the world's.
    func start(_ release: Program.Release = .this, settings others: [String: String] = [:]) throws -> Program {
        try Program(
            ["serve"], of: release, settings: settings.merging(others) { _, other in other }, logs: folder)
    }

    /// Migrates the database to the schema of this release, without a gateway.
    func migrate() async throws {
        #expect(try await Program(["migrate"], settings: settings, logs: folder).end() == .exited(0))
    }

    /// Runs a command against the gateway, as a person does, to its end.
    ///
    /// - Parameters:
    ///   - key: nil: the operator's.
    ///   - others: what it is told besides.
    func command(
        _ arguments: [String], tool: String = "carillon", _ gateway: Gateway, key: String? = nil,
        alsoSettings others: [String: String] = [:]
    ) async throws -> (code: Int32, printed: String, input: String) {
        let own = ["URL": gateway.api.base.absoluteString, "KEY": key ?? adminKey, "APP": "garden"]
        let settings = others.merging(own) { _, own in own }
        let program = try Program(arguments, tool: tool, settings: settings, logs: folder)
        guard case .exited(let code) = try await program.end() else {
            throw TookTooLong(description: "\(tool) \(arguments) crashed: \(program.loggedLast)")
        }
        return (code, program.printed, program.logged)
    }

    /// Runs the doctor with the gateways' settings, which `settings` override.
    func doctor(_ arguments: [String] = [], settings: [String: String] = [:]) async throws -> (
        code: Int32, printed: String
    ) {
        let program = try Program(
            ["doctor"] + arguments, settings: self.settings.merging(settings) { _, new in new }, logs: folder)
        guard case .exited(let code) = try await program.end() else {
            throw TookTooLong(description: "carillon doctor crashed: \(program.loggedLast)")
        }
        return (code, program.printed + program.logged)
    }

    /// The signing key, as Apple supplies it.
    func writeSigningKey(_ name: String) throws -> String {
        let file = folder.appending(path: name)
        try Data(try signingKey.privatePEM()).write(to: file)
        return file.path(percentEncoded: false)
    }

    /// Starts a gateway, and waits until it reports that it is ready.
    ///
    /// - Parameter network: the gateway's namespace; nil for this machine's network. From a namespace it reaches the
    ///   database over TCP if the server listens there, else over its socket, which no cable cuts.
    /// - Parameter address: the provider's address in that network; nil for the usual one.
    func gateway(
        _ release: Program.Release = .this, in network: NetworkNamespace? = nil, standInAt address: String? = nil
    ) async throws -> Gateway {
        let program =
            try network.map { network in
                var own = ["LISTEN": network.portCable.inside + ":0"]
                if case .on(let server, let name) = database { own["DATABASE_URL"] = server.farURL(name) }
                if let address { own["APNS_PRODUCTION_URL"] = production.url(at: address) }
                let settings = settings.merging(own) { _, new in new }
                return try Program(["serve"], of: release, in: network, settings: settings, logs: folder)
            } ?? start(release)
        return try await ready(program)
    }

    func ready(_ program: Program) async throws -> Gateway {
        let address = try await program.address(isLogInJSON: settings["LOG_FORMAT"] == "json")
        return Gateway(program: program, api: GatewayAPI(base: try #require(URL(string: address)), key: adminKey))
    }

    /// The file in which the gateway's private server describes itself.
    var postmasterFile: PostmasterFile? {
        PostmasterFile(in: folder.appending(path: "d").path(percentEncoded: false))
    }

    /// Queries the database.
    func database<Answer>(_ body: (PostgresPool) async throws -> Answer) async throws -> Answer {
        switch database {
        case .on(let server, let name): return try await server.within(name, body)
        case .gatewaysOwn:
            let loop = try ReactorLoop(name: "rows")
            defer { loop.stop() }
            let file = try #require(postmasterFile, "the private server is running")
            let settings = PostgresSettings(socketFolder: file.socketFolder, user: "carillon", database: "carillon")
            return try await settings.pooled(on: loop, body)
        }
    }

    /// P9: occurrences of tokens (which have long rows of zeros), payloads or keys in a log. It must be empty.
    private func leakedSecrets() throws -> [String] {
        let secrets = try secrets + ["Twelve o'clock", "0000000000000000"]
        let files = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
        return try files.flatMap { file in
            // A command may print what it was asked for about a message.
            let reported = file.pathExtension == "log" ? secrets : secrets.filter { $0 != "Twelve o'clock" }
            guard ["log", "out", "err"].contains(file.pathExtension) else { return [String]() }
            let text = try String(contentsOf: file, encoding: .utf8)
            return reported.filter { text.contains($0) }
        }
    }

    /// Values that may not appear anywhere, not even in the tests' own output.
    private var secrets: [String] {
        get throws {
            let key = String(decoding: try signingKey.privatePEM(), as: UTF8.self)
            return key.split(separator: "\n").filter { !$0.hasPrefix("---") }.map(String.init) + google.secrets
                + [adminKey] + Self.beginningsOfTokens
        }
    }

    /// The beginnings of provider tokens (`{"alg":"ES256"`), of assertions (`{"alg":"RS256"`), and of the stand-in's
    /// access tokens.
    private static let beginningsOfTokens = ["eyJhbGciOiJFUzI1NiI", "eyJhbGciOiJSUzI1NiI", "ya29.c.stand-in-"]

    /// A killed gateway leaves its server behind, for the next one to adopt.
    private func stopGatewaysServer() async {
        guard case .gatewaysOwn = database, let process = postmasterFile?.process else { return }
        _ = kill(process, SIGQUIT)
        try? await eventually("the private server's end") { kill(process, 0) != 0 }
    }

    /// Creates an app with a signing key and its devices.
    func fill(_ app: App, _ devices: [Device], through gateway: Gateway) async throws {
        try await gateway.api.expect(201, "POST", "/v1/apps", #"{"slug": "\#(app)", "name": "An app"}"#)
        try await activateToken(for: app, through: gateway)
        try await gateway.register(devices, of: app)
    }

    /// - Parameter topics: nil for the app's one topic.
    /// - Parameter keyID: nil for the app's one key.
    func activateToken(
        for app: App, topics: [String]? = nil, keyID: String? = nil, through gateway: Gateway
    ) async throws {
        let topics = topics ?? [app.topic]
        let list = topics.map { #""\#($0)""# }.joined(separator: ", ")
        let p8 = String(decoding: try signingKey.privatePEM(), as: UTF8.self).replacing("\n", with: "\\n")
        try await gateway.api.expect(
            201, "POST", "/v1/apps/\(app)/credentials",
            """
            {"provider": "apns", "kind": "token", "environment": "\(app.environment)", "key_id": "\(keyID ?? app.keyID)",
             "team_id": "TEAMID1234", "topics": [\(list)], "p8": "\(p8)", "activate": true}
            """)
    }
}

extension World {
    /// Stores the provider token that all processes share for the app's key, as if it had been signed this long ago. It
    /// is sealed under the master key. Call this before any gateway has used a token.
    func keepProviderToken(of app: App, age: Duration) async throws {
        let issuedAt = WallInstant(secondsSince1970: Clocks.wallNow().secondsSince1970 - age.components.seconds)
        let identity = try #require(APNsKeyIdentity(keyID: app.keyID, teamID: "TEAMID1234"))
        let input = ProviderTokenText.signingInput(identity: identity, issuedAt: issuedAt)
        let token = ProviderTokenText.assemble(
            signingInput: input, signature: try signingKey.sign(input), issuedAt: issuedAt)
        let name = "TEAMID1234/\(app.keyID)"
        let nonce = Entropy.bytes(12)
        let sealed = try AESGCM.seal(
            token.text, key: Self.masterKey, nonce: nonce, context: Array("provider-token/\(name)".utf8))
        let fingerprint = Hashes.sha256(Array("\(name)/".utf8) + (try signingKey.publicPEM()))
        let statement = Statement(
            unprepared: """
                INSERT INTO provider_tokens (key_fingerprint, sealed, issued_at) VALUES (:fingerprint, :sealed, :issued_at)
                ON CONFLICT (key_fingerprint) DO UPDATE SET sealed = excluded.sealed, issued_at = excluded.issued_at
                """)
        let query = Query(statement) {
            $0.bytes("fingerprint", fingerprint)
            $0.bytes("sealed", [1] + nonce + sealed)
            $0.instant("issued_at", issuedAt)
        }
        try await database { pool in _ = try await pool.run(query) }
    }
}

struct App: Sendable, CustomStringConvertible {
    static let garden = App(slug: "garden", keyID: "GARDEN1234")
    static let forest = App(slug: "forest", environment: "sandbox", keyID: "FOREST1234")

    let slug: String
    var environment = "production"
    let keyID: String

    var description: String { slug }
    var topic: String { "com.example.\(slug)" }
}

/// A running gateway and its API.
struct Gateway: Sendable {
    let program: Program
    let api: GatewayAPI

    func register(_ devices: [Device], of app: App) async throws {
        let lines = devices.map { $0.registration(environment: app.environment) }
        let reply = try await api.expect(
            200, "POST", "/v1/apps/\(app)/devices/import", lines.joined(separator: "\n") + "\n",
            contentType: "application/x-ndjson")
        let last = reply.text.split(separator: "\n").last.map(String.init) ?? ""
        try #require(
            last.contains(#""done":true"#) && last.contains(#""created":\#(devices.count)"#),
            "the import ended: \(last)")
    }

    /// Sends a message to everyone with a badge increment; returns its id.
    func broadcast(_ app: App, ttlSeconds: Int = 86_400) async throws -> String {
        try await send(app, audience: #"{"all": true}"#, ttlSeconds: ttlSeconds)
    }

    func send(_ app: App, audience: String, ttlSeconds: Int = 86_400) async throws -> String {
        try await send(
            app,
            """
            {"audience": \(audience), "badge": "increment", "options": {"ttl_seconds": \(ttlSeconds)},
             "notification": {"title": "Carillon", "body": "\(World.text)"}}
            """)[0]
    }

    /// The ids of the messages that a request creates: one for each record of a list.
    func send(_ app: App, _ request: String) async throws -> [String] {
        let accepted = try await api.expect(202, "POST", "/v1/apps/\(app)/messages", request).decoded(Accepted.self)
        return accepted.messages ?? [accepted.id]
    }

    func account(_ message: String, of app: App) async throws -> Account {
        try await api.expect(200, "GET", "/v1/apps/\(app)/messages/\(message)").decoded(Account.self)
    }

    func finished(_ message: String, of app: App, within bound: Duration = .seconds(240)) async throws -> Account {
        var last: Account?
        do {
            return try await foundEventually("the message to finish", within: bound) {
                // While the database is away, the API reports it.
                let reply = try await api.call("GET", "/v1/apps/\(app)/messages/\(message)")
                guard reply.status == 200 else { return nil }
                last = try reply.decoded(Account.self)
                return last?.state == "finished" ? last : nil
            }
        } catch let slow as TookTooLong {
            throw TookTooLong(
                description: "\(slow): \(String(describing: last)); the gateway's log: \(program.loggedLast)")
        }
    }

    /// The whole feed, read page by page.
    func feedback(_ app: App) async throws -> [Feedback] {
        var all: [Feedback] = []
        var cursor: String?
        while true {
            let page = try await feedback(app, after: cursor)
            guard !page.items.isEmpty, let next = page.next else { return all }
            all += page.items
            cursor = next
        }
    }

    /// The page after a cursor; nil for the first.
    func feedback(_ app: App, after cursor: String?) async throws -> FeedbackPage {
        let after = cursor.map { "&after=" + ($0.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? $0) }
        return try await api.expect(200, "GET", "/v1/apps/\(app)/feedback?limit=500\(after ?? "")")
            .decoded(FeedbackPage.self)
    }

    func state(of device: Device, _ app: App) async throws -> String {
        try await state(of: device.installation, app)
    }

    func state(of installation: String, _ app: App) async throws -> String {
        try await api.expect(200, "GET", "/v1/apps/\(app)/devices/\(installation)").decoded(Registered.self).state
    }

    func isReady() async throws -> Bool { try await api.call("GET", "/readyz").status == 200 }

    /// Asks the gateway to stop, as an operator does, and waits until it has.
    func stopGently() async throws {
        program.kill(SIGTERM)
        #expect(try await program.end() == .exited(0), "a gateway that is asked to stop exits with 0")
    }

    struct Feedback: Decodable, Equatable {
        let id: String
        let installation: String
        let verdict: String
        let reason: String
        /// The environments, if the device changed its own.
        let from: String?
        let to: String?
    }

    struct FeedbackPage: Decodable {
        let items: [Feedback]
        let next: String?
    }

    private struct Accepted: Decodable {
        let id: String
        let messages: [String]?
    }

    private struct Registered: Decodable { let state: String }
}
