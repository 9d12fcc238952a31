import AsyncHTTPClient
import Calendar
import Foundation
import NIOCore
import NIOSSL
import PushModel
import Reactor
import Transport

/// Whether providers can be reached from here, over TLS, as lanes would.
struct ProviderCheck {
    private let settings: Settings
    private static let deadline: Duration = .seconds(10)

    init(_ settings: Settings) { self.settings = settings }

    func run() async -> [Finding] {
        var findings: [Finding] = []
        for (name, endpoint) in [
            ("APNs", settings.apnsProduction), ("APNs sandbox", settings.apnsSandbox), ("FCM", settings.fcm),
        ] {
            findings.append(await look(name, endpoint))
        }
        return findings
    }

    private func look(_ name: String, _ endpoint: Endpoint) async -> Finding {
        let place = "\(endpoint.host):\(endpoint.port)"
        let client: HTTPClient
        do { client = HTTPClient(eventLoopGroupProvider: .singleton, configuration: try configuration()) } catch {
            return .bad("trust", "CARILLON_PROVIDER_CA_FILE can't be used: \(error)", "correct it, or leave it out")
        }
        let outcome: Result<HTTPClientResponse, any Error>
        do {
            let host = endpoint.host.contains(":") ? "[\(endpoint.host)]" : endpoint.host
            outcome = .success(
                try await client.execute(
                    HTTPClientRequest(url: "https://\(host):\(endpoint.port)/"),
                    timeout: .nanoseconds(Self.deadline.wholeNanoseconds)))
        } catch {
            outcome = .failure(error)
        }
        try? await client.shutdown()
        switch outcome {
        // Whatever it answers, it is there, and believed.
        case .success(let response):
            let date = response.headers.first(name: "date")
            return DoctorRules.provider(
                name, at: place, theirs: date.flatMap { HTTPDate.parse($0, now: Clocks.wallNow()) },
                now: Clocks.wallNow())
        case .failure(let error):
            let proxy = settings.providerProxy == nil ? "CARILLON_PROVIDER_PROXY where there is a proxy" : "the proxy"
            return .bad(
                name, "\(place) can't be reached: \(error)",
                "look at the name server, the firewall (outgoing TCP \(endpoint.port)), and \(proxy); where its certificate is "
                    + "not believed, CARILLON_PROVIDER_CA_FILE")
        }
    }

    private func configuration() throws -> HTTPClient.Configuration {
        var configuration = HTTPClient.Configuration()
        configuration.redirectConfiguration = .disallow
        configuration.connectionPool.retryConnectionEstablishment = false
        configuration.timeout.connect = .nanoseconds(Self.deadline.wholeNanoseconds)
        var tls = TLSConfiguration.makeClientConfiguration()
        if let file = settings.providerCAFile {
            tls.additionalTrustRoots = [.certificates(try NIOSSLCertificate.fromPEMFile(file))]
        }
        configuration.tlsConfiguration = tls
        configuration.proxy = settings.providerProxy?.forHTTPClient
        return configuration
    }
}
