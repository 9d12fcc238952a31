import AsyncHTTPClient
import Basis
import Calendar
import CommandLine
import Foundation
import Model
import NIOCore
import NIOSSL
import ProviderInterface
import Providers
import Reactor

/// Checks whether providers can be reached from here, over TLS, as lanes would.
struct ProviderCheck {
    let settings: Settings
    private static let deadline: Duration = .seconds(10)

    /// - Parameter used: nil: unknown. Then an unreachable provider is only a note.
    func run(used: Set<ProviderUse>?) async -> [Finding] {
        var findings: [Finding] = []
        for endpoint in settings.providerEndpoints {
            let name = PushProviders.name(of: endpoint.provider, endpoint.environment)
            let use = ProviderUse(provider: endpoint.provider, environment: endpoint.environment)
            let isUsed = used.map { $0.contains(use) }
            if isUsed == false {
                findings.append(.good(name, "no active credential uses it, so it was not asked"))
            } else {
                findings.append(await check(name, endpoint, isUsed: isUsed ?? false))
            }
        }
        return findings
    }

    private func check(_ name: String, _ endpoint: ProviderEndpoint, isUsed: Bool) async -> Finding {
        let place = "\(endpoint.host):\(endpoint.port)"
        let client: HTTPClient
        do {
            client = HTTPClient(
                eventLoopGroupProvider: .singleton, configuration: try configuration(for: endpoint.host))
        } catch {
            return .bad(
                "trust",
                "CARILLON_PROVIDER_CA_FILE: \(settings.providerCAFile ?? "") holds no certificate in PEM, or can't be read",
                "correct it, or leave it out")
        }
        let request = HTTPClientRequest(url: "https://\(Endpoint(host: endpoint.host, port: endpoint.port))/")
        let outcome = await Result(of: {
            try await client.execute(request, timeout: .nanoseconds(Self.deadline.wholeNanoseconds))
        })
        try? await client.shutdown()
        switch outcome {
        // Any answer proves that the provider is there and trusted.
        case .success(let response):
            let date = response.headers.first(name: "date")
            return DoctorRules.provider(
                name, at: place, speaksHTTP2: response.version.major == 2,
                theirs: date.flatMap { HTTPDate.parse($0, now: Clocks.wallNow()) }, now: Clocks.wallNow(),
                isUsed: isUsed)
        case .failure(let error):
            var trouble = NetworkTrouble(error)
            // A connection of the inspector's own would bypass the proxy.
            if settings.providerProxy == nil {
                trouble = await CertificateInspector.explain(trouble, host: endpoint.host, port: Int(endpoint.port))
            }
            return DoctorRules.unreachable(
                name, at: place, trouble, port: endpoint.port, hasProxy: settings.providerProxy != nil, isUsed: isUsed)
        }
    }

    private func configuration(for host: String) throws -> HTTPClient.Configuration {
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
        configuration.http1_1ConnectionDebugInitializer = { $0.prepared { try $0.requireCertificate(for: host) } }
        configuration.http2ConnectionDebugInitializer = configuration.http1_1ConnectionDebugInitializer
        return configuration
    }
}

struct ProviderUse: Hashable, Sendable {
    let provider: Provider
    let environment: PushEnvironment
}
