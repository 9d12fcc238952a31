import Basis

/// A mobile backend's registration of one installation's token of one kind.
///
/// Absent members keep the stored value (`.keep`), null clears it (`.clear`).
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
    package var user: Change<String>
    package var locale: Change<String>
    package var timeZone: Change<String>
    package var appVersion: Change<String>
    package var tags: Change<[String]>
    /// A JSON object, as bytes.
    package var attributes: Change<[UInt8]>
    /// The initial badge, used at creation only.
    package var badge: Int32?
    /// The time when the backend learned this; nil: just now. The registration is stale, and ignored, if the stored
    /// state is newer: that of the installation or of the token's holder. A state without this time counts from its
    /// registration.
    package var asOf: WallInstant?

    package init(
        installation: String, kind: TokenKind = .alert, provider: Provider, environment: PushEnvironment = .production,
        topic: String = "", token: DeviceToken, user: Change<String> = .keep, locale: Change<String> = .keep,
        timeZone: Change<String> = .keep, appVersion: Change<String> = .keep, tags: Change<[String]> = .keep,
        attributes: Change<[UInt8]> = .keep, badge: Int32? = nil, asOf: WallInstant? = nil
    ) {
        self.installation = installation
        self.kind = kind
        self.provider = provider
        self.environment = environment
        self.topic = topic
        self.token = token
        self.user = user
        self.locale = locale
        self.timeZone = timeZone
        self.appVersion = appVersion
        self.tags = tags
        self.attributes = attributes
        self.badge = badge
        self.asOf = asOf
    }
}

/// The effect of a registration.
package enum RegistrationChange: Equatable, Sendable {
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
    /// Nothing changed, because the stored state of the installation or of the token's holder is newer.
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
    package let user: String?
    package let locale: String?
    package let timeZone: String?
    package let appVersion: String?
    package let tags: [String]
    /// A JSON object, as bytes.
    package let attributes: [UInt8]

    package init(
        id: RegistrationID, installation: String, kind: TokenKind, provider: Provider, environment: PushEnvironment,
        topic: String, token: DeviceToken, state: RegistrationState, badge: Int32, registeredAt: WallInstant,
        createdAt: WallInstant, user: String?, locale: String?, timeZone: String?, appVersion: String?, tags: [String],
        attributes: [UInt8]
    ) {
        self.id = id
        self.installation = installation
        self.kind = kind
        self.provider = provider
        self.environment = environment
        self.topic = topic
        self.token = token
        self.state = state
        self.badge = badge
        self.registeredAt = registeredAt
        self.createdAt = createdAt
        self.user = user
        self.locale = locale
        self.timeZone = timeZone
        self.appVersion = appVersion
        self.tags = tags
        self.attributes = attributes
    }
}

/// The state of a registration. The numbers are stored in the database.
package enum RegistrationState: Int16, Hashable, Sendable, CaseIterable {
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
