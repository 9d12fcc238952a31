import Credentials
import Model
import ProviderInterface
import Providers

// The one place that joins the providers with their settings.
extension Settings {
    /// The address of every provider that this version delivers to, in each of its environments. A test fails where one
    /// is missing.
    package var providerEndpoints: [ProviderEndpoint] {
        PushProviders.offered.flatMap { provider in
            provider.environments.compactMap { environment in
                endpoint(of: provider.id, environment).map { endpoint in
                    ProviderEndpoint(
                        provider: provider.id, environment: environment, host: endpoint.host, port: endpoint.port,
                        requestsPerMinute: requestsPerMinute(at: provider.id))
                }
            }
        }
    }

    /// The hosts that a service account's `token_uri` may name.
    package var targetHosts: TargetHosts {
        if self.allowsPrivateTargets { return .all }
        return self.providerProxy == nil ? .outside : .listed(self.tokenHosts)
    }

    /// nil: this version does not deliver to the provider.
    private func endpoint(of provider: Provider, _ environment: PushEnvironment) -> Endpoint? {
        switch (provider, environment) {
        case (.apns, .production): self.apnsProduction
        case (.apns, .sandbox): self.apnsSandbox
        case (.fcm, _): self.fcm
        case (.hms, _), (.webpush, _): nil
        }
    }

    /// The quota of one project, shared by all processes; nil: the provider has none.
    private func requestsPerMinute(at provider: Provider) -> Int? { provider == .fcm ? self.fcmMessagesPerMinute : nil }
}
