import JSON
import Reactor
import Simulator
import TLS

/// An FCM server with its OAuth, in the test's process, over real TLS.
struct GoogleStandIn: Sendable {
    let simulator: ProviderSimulator
    let url: String
    private let account: ServiceAccount

    init(_ authority: CertificateAuthority, accessTokenSeconds: Int = 3_599) async throws {
        let identity = try authority.issue(
            CertificateSubject(commonName: "localhost"), names: ["localhost", "127.0.0.1"],
            validity: .days(2, from: Clocks.wallNow()))
        account = try ServiceAccount(projectID: "tower-1")
        var settings = FCMSimulatorSettings(identity: identity, accounts: [account])
        settings.accessTokenSeconds = accessTokenSeconds
        simulator = try ProviderSimulator(settings)
        url = "https://localhost:\(try await simulator.start())"
    }

    /// The credential as an operator submits it.
    var credential: String {
        let file = String(decoding: account.file(tokenURI: url + "/token"), as: UTF8.self)
        return #"{"provider": "fcm", "kind": "service_account", "activate": true, "service_account": \#(file)}"#
    }

    /// The private key's lines: none of them may stand in a log.
    var secrets: [String] {
        let file = try? JSONReader.read(account.file(tokenURI: url)).object
        let key = file?["private_key"]?.string ?? ""
        return key.split(separator: "\n").filter { !$0.hasPrefix("---") }.map(String.init)
    }

    /// All requests that named the token, in the order of arrival, scripted answers included.
    func requests(to token: String) async -> [ReceivedPush] {
        let scripted = await simulator.received("").filter { String(decoding: $0.body, as: UTF8.self).contains(token) }
        return (scripted + (await simulator.received(token))).sorted { $0.arrivedAt < $1.arrivedAt }
    }

    /// The messages that a token received, as JSON.
    func messages(to token: String) async throws -> [JSONObject] {
        try await simulator.received(token).filter { $0.reason == nil }.compactMap { push in
            try JSONReader.read(push.body).object?["message"]?.object
        }
    }
}
