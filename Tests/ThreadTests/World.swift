import Foundation
import Model
import Postgres
import Reactor
import Signing
import TLS
import TestSupport
import Testing

/// Everything around one message: a database, a third-party APNs server, gateways that start and stop, and a client.
final class World: Sendable {
    static let app = "garden"
    /// The text in the body of each push.
    static let text = "Twelve o'clock, and not for the log"
    /// Three at a time: each has its own gateway and Node process.
    private static let turnstile = Turnstile(places: 3)

    let devices: [Device]
    private let server: DatabaseServer
    private let database: String
    private let folder: URL
    private let adminKey: String
    private let settings: [String: String]
    private let peer: Child
    private let peerLog: URL
    private let signingKey: ES256Key
    let pool: PostgresPool

    /// - Parameter settings: `CARILLON_...` names without the prefix; they override the world's own.
    static func within(
        devices: [Device], peer options: [String] = [], settings: [String: String] = [:],
        _ body: (World) async throws -> Void
    ) async throws {
        let server = try #require(DatabaseServer.shared, "the suite has the trait .onDatabaseServer()")
        try await turnstile.pass {
            let world = try await World(server, devices, options, settings)
            let outcome: Result<Void, any Error>
            do {
                defer { RunEvidence.keep(logsBelow: world.folder.path(percentEncoded: false)) }
                try await body(world)
                let secrets = try world.leakedSecrets()
                #expect(secrets == [], "the gateways' logs contain no secrets")
                outcome = .success(())
            } catch {
                outcome = .failure(error)
            }
            world.peer.kill(SIGKILL)
            await world.pool.close()
            try outcome.get()
        }
    }

    private init(
        _ server: DatabaseServer, _ devices: [Device], _ options: [String], _ settings: [String: String]
    ) async throws {
        self.server = server
        self.devices = devices
        database = "world_\(UUID().uuidString.replacing("-", with: "").lowercased())"
        let folder = server.folder.deletingLastPathComponent().appending(path: database)
        self.folder = folder
        func path(_ name: String) -> String { folder.appending(path: name).path(percentEncoded: false) }
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        adminKey = String(repeating: "admin-key-of-a-test-", count: 2)
        signingKey = try ES256Key.generate()
        peerLog = folder.appending(path: "peer.ndjson")

        let validity = CertificateValidity.days(2, from: Clocks.wallNow())
        let authority = try CertificateAuthority(validity: validity)
        let subject = CertificateSubject(commonName: "localhost")
        let identity = try authority.issue(subject, names: ["localhost", "127.0.0.1"], validity: validity)
        try Data(authority.pem).write(to: folder.appending(path: "ca.pem"))
        try Data(identity.pem()).write(to: folder.appending(path: "peer.pem"))
        try Data(signingKey.publicPEM()).write(to: folder.appending(path: "signer.pem"))
        try Data((0..<32).map { UInt8($0) }).write(to: folder.appending(path: "master.key"))
        peer = try Programs.peer(
            [
                "--cert", path("peer.pem"), "--key", path("peer.pem"), "--log", path("peer.ndjson"), "--verify",
                path("signer.pem"), "--with-parent",
            ] + options, logs: folder)
        try await server.makeDatabase(database)
        pool = server.pool(database)
        let announcement = try await peer.line(beginningWith: "{")
        let port = try JSONDecoder().decode([String: Int].self, from: Data(announcement.utf8))["port"]
        var all = [
            "DATABASE_URL": server.url(database), "MASTER_KEY_FILE": path("master.key"), "ADMIN_KEY": adminKey,
            "DATA_DIR": path("data"), "LISTEN": "127.0.0.1:0", "PROVIDER_CA_FILE": path("ca.pem"),
            "APNS_PRODUCTION_URL": "https://localhost:\(try #require(port))", "LEASE_SECONDS": "3",
            "REQUEST_DEADLINE_SECONDS": "1", "LOG_LEVEL": "debug",
        ]
        all.merge(settings) { _, new in new }
        self.settings = all
        // The part of the tokens that many share.
        RunEvidence.secrets(try secrets + [Self.text] + devices.map { String($0.token.prefix(24)) })
    }

    /// Starts a gateway on this world's database, and waits until it reports that it is ready.
    func gateway(_ fault: Fault? = nil) async throws -> Gateway {
        let child = try start(fault)
        return try await ready(child)
    }

    /// Starts a gateway too, but returns nil if it meets its fault before it is ready, since it resumes old work at
    /// once.
    func gatewayOrItsEnd(_ fault: Fault) async throws -> Gateway? {
        let child = try start(fault)
        do { return try await ready(child) } catch {
            if child.terminalStatus == .killed(signal: SIGKILL) { return nil }
            throw error
        }
    }

    private func start(_ fault: Fault?) throws -> Child {
        var environment = Programs.environment
        for (name, value) in settings { environment["CARILLON_" + name] = value }
        if let fault {
            environment["CARILLON_FAULT"] = "\(fault.step.rawValue):\(fault.time)"
            environment["CARILLON_FAULT_SIGNAL"] = fault.freezes ? "STOP" : "KILL"
        }
        return try Programs.gateway(underFaults: fault != nil, environment: environment, logs: folder)
    }

    private func ready(_ child: Child) async throws -> Gateway {
        let line = try await child.line(beginningWith: "carillon is ready on ")
        let address = try #require(line.split(separator: " ").last.flatMap { URL(string: String($0)) })
        return Gateway(child: child, caller: HTTPCaller(base: address, key: adminKey))
    }

    /// Creates the app, its credential and its devices over HTTP.
    func fill(through gateway: Gateway) async throws {
        _ = try await gateway.caller.expect(201, "POST", "/v1/apps", #"{"slug": "\#(Self.app)", "name": "Garden"}"#)
        let p8 = String(decoding: try signingKey.privatePEM(), as: UTF8.self).replacing("\n", with: "\\n")
        _ = try await gateway.caller.expect(
            201, "POST", "/v1/apps/\(Self.app)/credentials",
            """
            {"provider": "apns", "kind": "token", "environment": "production", "key_id": "ABCDE12345",
             "team_id": "TEAMID1234", "topics": ["com.example.garden"], "p8": "\(p8)", "activate": true}
            """)
        let lines = devices.map { device in
            #"{"installation": "\#(device.installation)", "provider": "apns", "token": "\#(device.token)"}"#
        }
        _ = try await gateway.caller.expect(
            200, "POST", "/v1/apps/\(Self.app)/devices/import", lines.joined(separator: "\n") + "\n",
            contentType: "application/x-ndjson")
    }

    /// P9: occurrences of tokens (which have long rows of zeros), payloads or keys in a log at the level `debug`. It
    /// must be empty.
    private func leakedSecrets() throws -> [String] {
        let secrets = try secrets + ["Twelve o'clock", "0000000000000000"]
        let logs = try FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)
            .filter { $0.pathExtension == "log" && $0.lastPathComponent.hasPrefix("carillon") }
        try #require(!logs.isEmpty)
        return try logs.flatMap { log in
            let text = try String(contentsOf: log, encoding: .utf8)
            return secrets.filter { text.contains($0) }
        }
    }

    private var secrets: [String] {
        get throws {
            let key = String(decoding: try signingKey.privatePEM(), as: UTF8.self)
            return key.split(separator: "\n").filter { !$0.hasPrefix("---") }.map(String.init) + [adminKey]
        }
    }

    func pushes() throws -> [SeenPush] {
        guard let text = try? String(contentsOf: peerLog, encoding: .utf8) else { return [] }
        return try text.split(separator: "\n").map { try JSONDecoder().decode(SeenPush.self, from: Data($0.utf8)) }
    }
}

/// A step of the work, and the fault there.
struct Fault: Sendable, CustomStringConvertible {
    let step: Step
    var time = 1
    var freezes = false

    var description: String { "\(freezes ? "frozen" : "killed") at \(step)" + (time > 1 ? ", time \(time)" : "") }
}

/// A running gateway and a client of its API.
struct Gateway: Sendable {
    let child: Child
    let caller: HTTPCaller

    /// A copy of the message's account; nil if the gateway is gone.
    func account(_ id: String) async throws -> Account? {
        guard let reply = try? await caller.call("GET", "/v1/apps/\(World.app)/messages/\(id)") else { return nil }
        guard reply.status == 200 else {
            throw UnexpectedStatus(description: "the message reads \(reply.status): \(reply.text)")
        }
        return try reply.decoded(Account.self)
    }

    /// Asks the gateway to stop, as an operator does, and waits until it has.
    func stopGently() async throws {
        child.kill(SIGTERM)
        #expect(try await child.end() == .exited(0), "a gateway that is asked to stop exits with 0")
    }
}

/// A message's account in the API.
struct Account: Decodable, Equatable {
    let id: String
    let state: String
    let audience: Int?
    let outcomes: [String: Int]
    let pending: Int
}

/// A registration of the test, and the peer's answer for its token.
struct Device: Sendable, Equatable {
    enum Fate: String, Sendable { case live, dead, bad }

    let installation: String
    let token: String
    let fate: Fate

    static func some(live: Int, dead: Int, bad: Int) -> [Device] {
        func make(_ fate: Fate, _ prefix: String, _ count: Int) -> [Device] {
            (0..<count).map { number in
                let digits = String(number, radix: 16)
                let token = prefix + String(repeating: "0", count: 64 - prefix.count - digits.count) + digits
                return Device(installation: "\(fate.rawValue)-\(number)", token: token, fate: fate)
            }
        }
        return make(.live, "a11e", live) + make(.dead, "dead", dead) + make(.bad, "bad0", bad)
    }
}

/// A line of the peer's log.
struct SeenPush: Decodable, Equatable {
    let token: String
    let id: String?
    let topic: String?
    let collapseID: String?
    let badge: Int?
    /// The node's data in a wake-up.
    let value: String?
    let status: Int
}

/// The programs that the tests start.
enum Programs {
    /// The products lie beside the test bundle.
    private static let products = URL(filePath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
    private static let project = URL(filePath: #filePath).resolvingSymlinksInPath().deletingLastPathComponent()
        .deletingLastPathComponent().deletingLastPathComponent()

    /// The environment inherits little: no variable of the user who runs the tests has an effect.
    static let environment: [String: String] = ProcessInfo.processInfo.environment.filter { name, _ in
        ["PATH", "HOME", "TMPDIR", "LD_LIBRARY_PATH", "CARILLON_RUN_FOLDER"].contains(name)
    }

    static func gateway(underFaults: Bool, environment: [String: String], logs: URL) throws -> Child {
        let name = underFaults ? "carillon-under-faults" : "carillon"
        return try Child(
            name, products.appending(path: name), underFaults ? [] : ["serve"], environment: environment, logs: logs)
    }

    static func peer(_ arguments: [String], logs: URL) throws -> Child {
        let script = project.appending(path: "Tests/Interop/apns_peer.mjs").path(percentEncoded: false)
        return try Child(
            "peer", URL(filePath: "/usr/bin/env"), ["node", script] + arguments, environment: environment, logs: logs)
    }
}
