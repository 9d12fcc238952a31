import Model

/// The address of a provider in one of its environments, and what the operator set for it.
package struct ProviderEndpoint: Equatable, Sendable {
    package let provider: Provider
    package let environment: PushEnvironment
    package let host: String
    package let port: UInt16
    /// The quota of one project, shared by all processes; nil: the provider has none.
    package let requestsPerMinute: Int?
    /// The address for access tokens, where it is a setting; nil: the credential names it, or the provider grants none.
    package let tokenURL: String?

    package init(
        provider: Provider, environment: PushEnvironment, host: String, port: UInt16, requestsPerMinute: Int? = nil,
        tokenURL: String? = nil
    ) {
        (self.provider, self.environment, self.host, self.port) = (provider, environment, host, port)
        (self.requestsPerMinute, self.tokenURL) = (requestsPerMinute, tokenURL)
    }
}
