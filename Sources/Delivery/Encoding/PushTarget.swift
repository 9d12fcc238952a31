import FCM
import Model

/// The destination of a route's pushes in its provider's terms, from the credential and the route.
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

/// The part of a destination that a credential determines.
package enum CredentialReach: Sendable, Equatable {
    /// `onlyTopic`: the topic for registrations that name none.
    case apns(onlyTopic: String?)
    case fcm(FCMProject)

    /// Returns the destination; nil: neither the registration nor the credential names a topic.
    func target(topic: String) -> PushTarget? {
        switch self {
        case .apns(let onlyTopic): (topic.isEmpty ? onlyTopic : topic).map { .apns(topic: $0) }
        case .fcm(let project): .fcm(path: FCMRequest.path(of: project))
        }
    }
}
