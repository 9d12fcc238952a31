import FCM
import Model

/// Where a route's pushes go, in its provider's terms: what the credential and the route say together.
package enum PushTarget: Sendable, Equatable {
    /// The app's bundle id.
    case apns(topic: String)
    /// The value of `:path`, with the project in it.
    case fcm(path: [UInt8])

    package var provider: Provider {
        switch self {
        case .apns: .apns
        case .fcm: .fcm
        }
    }
}

/// What a credential says about where its pushes go.
package enum CredentialReach: Sendable, Equatable {
    /// `onlyTopic`: for registrations that name no topic.
    case apns(onlyTopic: String?)
    case fcm(FCMProject)

    /// nil: neither the registration nor the credential names a topic.
    func target(topic: String) -> PushTarget? {
        switch self {
        case .apns(let onlyTopic): (topic.isEmpty ? onlyTopic : topic).map { .apns(topic: $0) }
        case .fcm(let project): .fcm(path: FCMRequest.path(of: project))
        }
    }
}
