/// What a sender wants shown or handed over, before any provider's form: the common part of a message.
///
/// Who gets it (the audience) and when stand beside it, in the message's row.
package struct MessageContent: Equatable, Sendable {
    package var notification: NotificationText?
    /// The same text in other languages, each locale once; each says only what it changes.
    package var localizations: [Localization]
    package var badge: BadgeChange
    /// A sound's file name, or "default".
    package var sound: String?
    /// The sender's own members, in the sender's order; handed to the app as they are.
    package var data: [DataMember]
    package var options: MessageOptions
    /// The sender's `apns` object: overrides the common part key by key.
    package var apns: JSONText?
    /// The sender's `fcm` object: likewise.
    package var fcm: JSONText?
    /// Its texts have holes that each device's own values fill (`TemplateText`). Otherwise braces are braces.
    package var isTemplate: Bool

    package init(
        notification: NotificationText? = nil, localizations: [Localization] = [], badge: BadgeChange = .none,
        sound: String? = nil, data: [DataMember] = [], options: MessageOptions = MessageOptions(),
        apns: JSONText? = nil, fcm: JSONText? = nil, isTemplate: Bool = false
    ) {
        self.notification = notification
        self.localizations = localizations
        self.badge = badge
        self.sound = sound
        self.data = data
        self.options = options
        self.apns = apns
        self.fcm = fcm
        self.isTemplate = isTemplate
    }
}

/// What a locale's people read instead; a member that it does not have is that of the next broader locale
/// (fr-CA, fr), and in the end the common one's.
package struct Localization: Equatable, Sendable {
    /// A BCP 47 tag as the sender wrote it: "fr", "fr-CA", "zh-Hant-TW".
    package let locale: String
    package let text: NotificationText

    package init(locale: String, text: NotificationText) {
        self.locale = locale
        self.text = text
    }
}

/// The text that a person reads.
package struct NotificationText: Equatable, Sendable {
    package var title: String?
    package var subtitle: String?
    package var body: String?

    package init(title: String? = nil, subtitle: String? = nil, body: String? = nil) {
        self.title = title
        self.subtitle = subtitle
        self.body = body
    }

    /// The length of all its texts, in UTF-8.
    package var byteCount: Int { [title, subtitle, body].reduce(0) { $0 + ($1?.utf8.count ?? 0) } }
}

/// What a message does to each receiver's badge.
package enum BadgeChange: Hashable, Sendable {
    case none
    /// Plus one, once per (message, device).
    case increment
    /// To this number, in the registry too. Never negative.
    case value(Int32)
}

/// One member of a message's `data`.
package struct DataMember: Equatable, Sendable {
    package let name: String
    package let json: JSONText

    package init(name: String, json: JSONText) {
        self.name = name
        self.json = json
    }
}

/// One JSON value as text: valid, without white space. Who makes one vouches for that (room JSON does).
package struct JSONText: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// Contents are a secret: only their size is told.
    package var description: String { "JSON of \(bytes.count) bytes" }
}

package enum PushPriority: Int16, Hashable, Sendable, CaseIterable {
    /// At the device's convenience.
    case normal = 1
    /// Now.
    case high = 2

    package var name: String {
        switch self {
        case .normal: "normal"
        case .high: "high"
        }
    }

    package init?(name: String) {
        guard let match = Self.allCases.first(where: { $0.name == name }) else { return nil }
        self = match
    }
}

/// How a message is to be carried.
package struct MessageOptions: Equatable, Sendable {
    /// nil: what the push type asks for (high, where it may choose).
    package var priority: PushPriority?
    /// How long a push is worth delivering, from its due instant. 0: now or never. nil: a day.
    package var ttlSeconds: Int32?
    /// nil: made from the message id, so that a repeat is shown once (P4).
    package var collapseID: String?
    package var pushType: PushType
    /// Everything but the delivery: APNs pushes are built and checked, FCM's are sent with `validate_only`.
    package var isDryRun: Bool
    /// What its app set for others and not for this one.
    package var ignored: AppLimits = []

    package init(
        priority: PushPriority? = nil, ttlSeconds: Int32? = nil, collapseID: String? = nil,
        pushType: PushType = .alert, isDryRun: Bool = false
    ) {
        self.priority = priority
        self.ttlSeconds = ttlSeconds
        self.collapseID = collapseID
        self.pushType = pushType
        self.isDryRun = isDryRun
    }

    /// A push without a time to live is worth a day.
    package static let lifetimeDefault: Duration = .seconds(86_400)
    /// A push that is to arrive "now or never" still needs the time to be sent, and once again.
    package static let lifetimeNowOrNever: Duration = .seconds(30)
    /// The longest that every provider keeps a push: FCM's 28 days (APNs: 30).
    package static let ttlSecondsMax: Int32 = 2_419_200

    /// From a push's due instant to its `expires_at`.
    package var lifetime: Duration {
        guard let ttlSeconds else { return Self.lifetimeDefault }
        return ttlSeconds > 0 ? .seconds(Int64(ttlSeconds)) : Self.lifetimeNowOrNever
    }
}
