import AsyncHTTPClient
import Foundation
import JSON
import NIOCore
import NIOSSL

package struct OwnStandIns: Sendable {
    package static let topic = "com.example.garden"
    private static let answerBytesMax = 16 << 20

    package let production: String
    package let sandbox: String
    package let fcm: String
    package let authorityFile: String
    package let process: Int32
    private let ready: JSONObject

    package init(_ folder: OwnFolder, _ children: ChildPrograms, _ options: [String] = []) async throws {
        let identities = folder.file("stand-in")
        // A killed run may have left its own behind.
        try? FileManager.default.removeItem(atPath: identities + "/ready.json")
        let child = try children.start(
            "stand-ins", ["simulate", "--identity-dir", identities, "--sandbox-port", "0"] + options, [:], in: folder)
        let found = try await children.wait(for: child) { () -> JSONObject? in
            guard let data = FileManager.default.contents(atPath: identities + "/ready.json") else { return nil }
            return (try? JSONReader.read(Array(data)))?.object
        }
        guard let ready = found, let production = ready["apns_production_url"]?.string,
            let sandbox = ready["apns_sandbox_url"]?.string, let fcm = ready["fcm_url"]?.string,
            let authority = ready["ca_file"]?.string
        else { throw CommandFault(.failed, "the stand-ins ended: \(child.lastOutput)") }
        self.ready = ready
        process = child.process.id
        (self.production, self.sandbox, self.fcm) = (production, sandbox, fcm)
        authorityFile = authority
    }

    /// The credentials that the stand-ins accept, as the gateway takes them.
    package func credentials() throws(CommandFault) -> [JSONValue] {
        func contents(_ member: String) throws(CommandFault) -> String { try text(ofFile: ready[member]?.string ?? "") }
        guard let account = try? JSONReader.read(Array(try contents("fcm_service_account_file").utf8)) else {
            throw CommandFault(.failed, "the stand-in's service account can't be read")
        }
        return [
            [
                "provider": "apns", "kind": "token", "environment": "both", "activate": true,
                "key_id": ready["apns_key_id"] ?? .null, "team_id": ready["apns_team_id"] ?? .null,
                "topics": .array([.string(Self.topic)]), "p8": .string(try contents("apns_key_file")),
            ],
            ["provider": "fcm", "kind": "service_account", "activate": true, "service_account": account],
        ]
    }

    package func received(_ token: String, at url: String) async throws -> JSONValue? {
        try await pushes(to: token, at: url).last?.object?["payload"]
    }

    package func pushes(to token: String, at url: String) async throws -> [JSONValue] {
        try await ask(url + "/simulator/received/" + GatewayClient.escaped(token)).object?["pushes"]?.array ?? []
    }

    package func requests() async throws -> Int64 { try await summaries().map { $0.count("requests") }.sum }

    /// The counts of APNs, its sandbox and FCM, in this order.
    func summaries() async throws -> [JSONValue] {
        var summaries: [JSONValue] = []
        for url in [production, sandbox, fcm] { summaries.append(try await ask(url + "/simulator/summary")) }
        return summaries
    }

    package func ask(_ url: String, posting body: [UInt8]? = nil) async throws -> JSONValue {
        var tls = TLSConfiguration.makeClientConfiguration()
        tls.trustRoots = .certificates(try NIOSSLCertificate.fromPEMFile(authorityFile))
        var configuration = HTTPClient.Configuration(tlsConfiguration: tls)
        // A sink reads no bodies over HTTP/2.
        configuration.httpVersion = .http1Only
        let client = HTTPClient(configuration: configuration)
        let outcome = await Result(of: {
            var request = HTTPClientRequest(url: url)
            if let body {
                request.method = .POST
                request.body = .bytes(body)
            }
            let response = try await client.execute(request, timeout: .seconds(30))
            guard response.status == .ok else {
                throw CommandFault(.failed, "the stand-in at \(url) answered \(response.status.code)")
            }
            let body = try await response.body.collect(upTo: Self.answerBytesMax)
            return try JSONReader.read(Array(body.readableBytesView), limits: .trusted)
        })
        try? await client.shutdown()
        do { return try outcome.get() } catch let fault as CommandFault { throw fault } catch {
            let why = NetworkTrouble(error).sentence
            throw CommandFault(.failed, "the stand-in at \(url) can't be reached: \(why)")
        }
    }
}
