import Basis

/// A mobile backend's registration of one installation's token of one kind.
package struct DeviceRegistration: Equatable, Sendable {
    package enum Change<Value: Equatable & Sendable>: Equatable, Sendable {
        case keep
        case clear
        case set(Value)
    }

    /// The app's own name for one copy of itself on one device; 1 to 256 bytes.
    package var installation: String
    package var kind: TokenKind
    package var provider: Provider
    package var environment: PushEnvironment
    /// The topic; "" means the only topic of the credential.
    package var topic: String
    package var token: DeviceToken
    package var profile: ProfileChange
    /// The badge to set; nil: an existing registration keeps its badge, and a new one has 0.
    package var badge: Int32?
    /// The time when the backend learned this; nil: just now. The registration is ignored if the stored state of the
    /// installation or of the token's holder is newer. A state without this time counts from its registration.
    package var asOf: WallInstant?
    /// The user who registers the installation itself; nil: a backend does. It is ignored, as a stale one, if the stored
    /// registration of the installation or of the token's holder names another user, or none. A device that no backend has
    /// registered is in no broadcast.
    package var claimant: String?

    package init(
        installation: String, kind: TokenKind = .alert, provider: Provider, environment: PushEnvironment = .production,
        topic: String = "", token: DeviceToken, profile: ProfileChange = ProfileChange(), badge: Int32? = nil,
        asOf: WallInstant? = nil
    ) {
        (self.installation, self.kind, self.provider, self.environment) = (installation, kind, provider, environment)
        (self.topic, self.token, self.profile, self.badge, self.asOf) = (topic, token, profile, badge, asOf)
    }
}

/// The effect of a registration. The API has these names.
package enum RegistrationChange: String, CaseIterable, Sendable {
    /// The installation or kind is new.
    case created
    /// The token is the same; something else in the wide row changed.
    case refreshed
    /// The token of the same installation and kind is new; badge, tags and subscriptions stay.
    case replaced
    /// The token belonged to another installation of the app and now belongs to this one.
    case moved
    /// Only the registration time changed.
    case unchanged
    /// Nothing changed, because the stored state of the installation or of the token's holder is newer, or is not the
    /// claimant's.
    case stale
}

/// One stored registration, as the API shows it.
package struct DeviceRecord: Equatable, Sendable {
    package let id: RegistrationID
    package let installation: String
    package let kind: TokenKind
    package let provider: Provider
    package let environment: PushEnvironment
    package let topic: String
    package let token: DeviceToken
    package let state: RegistrationState
    package let badge: Int32
    package let registeredAt: WallInstant
    package let createdAt: WallInstant
    package let profile: RegistrationProfile

    package init(
        id: RegistrationID, installation: String, kind: TokenKind, provider: Provider, environment: PushEnvironment,
        topic: String, token: DeviceToken, state: RegistrationState, badge: Int32, registeredAt: WallInstant,
        createdAt: WallInstant, profile: RegistrationProfile
    ) {
        (self.id, self.installation, self.kind, self.provider) = (id, installation, kind, provider)
        (self.environment, self.topic, self.token, self.state) = (environment, topic, token, state)
        (self.badge, self.registeredAt, self.createdAt, self.profile) = (badge, registeredAt, createdAt, profile)
    }
}

/// The state of a registration. The numbers are stored in the database.
package enum RegistrationState: Int16, Hashable, Sendable, NamedCase {
    case active = 1
    /// The token is under suspicion. Pushes still go out until it is confirmed.
    case suspected = 2
    /// The provider declared the token dead. The row is kept, so that this can be undone.
    case retired = 3

    package var name: String {
        switch self {
        case .active: "active"
        case .suspected: "suspected"
        case .retired: "retired"
        }
    }
}
