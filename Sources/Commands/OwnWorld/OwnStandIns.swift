import AsyncHTTPClient
import Foundation
import JSON
import NIOCore
import NIOSSL

/// The stand-ins of a demo, and what they keep.
struct DemoStandIns: Sendable {
    let production: String
    let sandbox: String
    let fcm: String
    let authorityFile: String
    private let ready: JSONObject

    init(_ folder: DemoFolder, _ children: DemoChildren) async throws {
        let identities = folder.file("stand-in")
        let child = try children.start(
            "stand-ins", ["simulate", "--identity-dir", identities, "--sandbox-port", "0"], [:], in: folder)
        let found = try await children.wait(for: child) { () -> JSONObject? in
            guard let data = FileManager.default.contents(atPath: identities + "/ready.json") else { return nil }
            return (try? JSONReader.read(Array(data)))?.object
        }
        guard let ready = found, let production = ready["apns_production_url"]?.string,
            let sandbox = ready["apns_sandbox_url"]?.string, let fcm = ready["fcm_url"]?.string,
            let authority = ready["ca_file"]?.string
        else { throw CommandFault(.failed, "the stand-ins ended: \(child.lastWords)") }
        self.ready = ready
        self.production = production
        self.sandbox = sandbox
        self.fcm = fcm
        authorityFile = authority
    }

    /// What the gateway is given to be believed.
    func credentials() throws(CommandFault) -> [JSONValue] {
        func contents(_ member: String) throws(CommandFault) -> String {
            try text(ofFile: ready[member]?.string ?? "")
        }
        guard let account = try? JSONReader.read(Array(try contents("fcm_service_account_file").utf8)) else {
            throw CommandFault(.failed, "the stand-in's service account can't be read")
        }
        return [
            [
                "provider": "apns", "kind": "token", "environment": "both", "activate": true,
                "key_id": ready["apns_key_id"] ?? .null, "team_id": ready["apns_team_id"] ?? .null,
                "topics": .array([.string(DemoStory.topic)]), "p8": .string(try contents("apns_key_file")),
            ],
            ["provider": "fcm", "kind": "service_account", "activate": true, "service_account": account],
        ]
    }

    /// The last push that a token received, as it came.
    func received(_ token: String, at url: String) async throws -> JSONValue? {
        let path = "/simulator/received/" + GatewayClient.escaped(token)
        return try await ask(url + path).object?["pushes"]?.array?.last?.object?["payload"]
    }

    /// Pushes that came to any of them.
    func requests() async throws -> Int64 {
        var count: Int64 = 0
        for url in [production, sandbox, fcm] {
            count += try await ask(url + "/simulator/summary").object?["requests"]?.integer ?? 0
        }
        return count
    }

    private func ask(_ url: String) async throws -> JSONValue {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authorityFile))
        let client = HTTPClient(configuration: HTTPClient.Configuration(tlsConfiguration: tls))
        let outcome: Result<JSONValue, any Error>
        do {
            let response = try await client.execute(HTTPClientRequest(url: url), timeout: .seconds(30))
            let body = try await response.body.collect(upTo: 1 << 20)
            outcome = .success(try JSONReader.read(Array(body.readableBytesView), limits: .trusted))
        } catch {
            outcome = .failure(CommandFault(.failed, "the stand-in at \(url) can't be asked: \(error)"))
        }
        try? await client.shutdown()
        return try outcome.get()
    }
}

/// The gateway of a demo.
struct DemoGateway: Sendable {
    let client: GatewayClient
    let keyFile: String

    init(_ folder: DemoFolder, _ standIns: DemoStandIns, port: UInt16, _ children: DemoChildren) async throws {
        var environment = [
            "CARILLON_DATA_DIR": folder.file("gateway"), "CARILLON_PROVIDER_CA_FILE": standIns.authorityFile,
            "CARILLON_APNS_PRODUCTION_URL": standIns.production, "CARILLON_APNS_SANDBOX_URL": standIns.sandbox,
            "CARILLON_FCM_URL": standIns.fcm,
            // The stand-in's OAuth is on this machine.
            "CARILLON_ALLOW_PRIVATE_TARGETS": "true",
        ]
        let ready = "carillon is ready on "
        var lastWords = ""
        for attempt in [port, 0] {
            environment["CARILLON_LISTEN"] = "127.0.0.1:\(attempt)"
            let child = try children.start("gateway", ["serve"], environment, in: folder)
            let line = try await children.wait(for: child) { () -> String? in
                let text = (try? String(contentsOfFile: child.output, encoding: .utf8)) ?? ""
                return text.split(separator: "\n").first { $0.hasPrefix(ready) }.map(String.init)
            }
            guard let line else {
                lastWords = child.lastWords
                continue
            }
            keyFile = folder.file("gateway") + "/admin-key"
            let key = try text(ofFile: keyFile).prefix { !$0.isNewline }
            client = GatewayClient(base: String(line.dropFirst(ready.count)), key: String(key))
            return
        }
        throw CommandFault(.failed, "the gateway ended: \(lastWords)")
    }
}
