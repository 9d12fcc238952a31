import Basis

/// What a mobile backend says about one installation's token of one kind.
///
/// Absent members keep what is stored (`.keep`), null clears (`.clear`).
package struct DeviceRegistration: Equatable, Sendable {
    package enum Change<Value: Equatable & Sendable>: Equatable, Sendable {
        case keep
        case clear
        case set(Value)
    }

    /// The app's own name for one copy of it on one device; 1 to 256 bytes.
    package var installation: String
    package var kind: TokenKind
    package var provider: Provider
    package var environment: PushEnvironment
    /// "" stands for the only topic of the credential.
    package var topic: String
    package var token: DeviceToken
    package var user: Change<String>
    package var locale: Change<String>
    package var timeZone: Change<String>
    package var appVersion: Change<String>
    package var tags: Change<[String]>
    /// A JSON object, as bytes.
    package var attributes: Change<[UInt8]>
    /// Counts at creation only.
    package var badge: Int32?
    /// When the backend learned this; nil: just now. Older than what is stored of the installation, or of whoever holds
    /// the token, which counts from its own time or else from when it was registered: stale, and ignored.
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

/// What a registration turned out to be.
package enum RegistrationChange: Equatable, Sendable {
    /// A new installation or kind.
    case created
    /// Same token; something else in the wide row changed.
    case refreshed
    /// Another token for the same installation and kind; badge, tags and subscriptions stay.
    case replaced
    /// The token lived under another installation of the app, and lives here now.
    case moved
    /// Nothing but the registration time changed.
    case unchanged
    /// Older than what is stored, here or of the token's holder: nothing changed.
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

/// The numbers stand in the database.
package enum RegistrationState: Int16, Hashable, Sendable, CaseIterable {
    case active = 1
    /// A verdict doubts the token; pushes still go out until the doubt is confirmed.
    case suspected = 2
    /// Dead by the provider's word. Kept, so that it can be undone.
    case retired = 3

    package var name: String {
        switch self {
        case .active: "active"
        case .suspected: "suspected"
        case .retired: "retired"
        }
    }
}
