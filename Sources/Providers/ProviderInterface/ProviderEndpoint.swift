import Model

/// The address of a provider in one of its environments, and what the operator set for it.
package struct ProviderEndpoint: Equatable, Sendable {
    package let provider: Provider
    package let environment: PushEnvironment
    package let host: String
    package let port: UInt16
    /// The quota of one project, shared by all processes; nil: the provider has none.
    package let requestsPerMinute: Int?

    package init(
        provider: Provider, environment: PushEnvironment, host: String, port: UInt16, requestsPerMinute: Int? = nil
    ) {
        (self.provider, self.environment, self.host, self.port) = (provider, environment, host, port)
        self.requestsPerMinute = requestsPerMinute
    }
}
