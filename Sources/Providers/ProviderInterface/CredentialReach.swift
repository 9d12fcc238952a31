import Model

/// The part of a destination that a credential determines.
package enum CredentialReach: Sendable, Equatable {
    /// Each registration names its topic. `only`: the topic for registrations that name none.
    case topics(Provider, only: String?)
    case address(PushTarget)

    /// Returns the destination; nil: neither the registration nor the credential names a topic.
    package func target(topic: String) -> PushTarget? {
        switch self {
        case .topics(let provider, let only): (topic.isEmpty ? only : topic).map { PushTarget(provider, $0) }
        case .address(let target): target
        }
    }
}
