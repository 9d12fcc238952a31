/// The common part of a message, before it is compiled for a provider: text, badge, sound, data.
package struct MessageContent: Equatable, Sendable {
    package var notification: NotificationText?
    /// The text in other languages, each locale once. Each entry holds only the differences.
    package var localizations: [Localization]
    /// How devices present the notification, in every language.
    package var presentation: NotificationPresentation
    package var badge: BadgeChange
    /// A sound's file name, or "default".
    package var sound: String?
    /// The sender's own members in their order, passed unchanged to the app.
    package var data: [DataMember]
    package var options: MessageOptions
    /// The sender's objects for single providers (`apns`, `fcm`): each overrides the common part key by key.
    package var overrides: ProviderOverrides
    /// Whether the texts contain placeholders (`TemplateText`). Otherwise braces are plain text.
    package var isTemplate: Bool

    package init(
        notification: NotificationText? = nil, localizations: [Localization] = [],
        presentation: NotificationPresentation = NotificationPresentation(), badge: BadgeChange = .none,
        sound: String? = nil, data: [DataMember] = [], options: MessageOptions = MessageOptions(),
        overrides: ProviderOverrides = ProviderOverrides(), isTemplate: Bool = false
    ) {
        (self.notification, self.localizations, self.presentation) = (notification, localizations, presentation)
        (self.badge, self.sound) = (badge, sound)
        (self.data, self.options, self.overrides, self.isTemplate) = (data, options, overrides, isTemplate)
    }
}

/// The sender's object for each provider that has one, in the order of the providers.
package struct ProviderOverrides: Equatable, Sendable, ExpressibleByDictionaryLiteral {
    private var texts: [JSONText?] = Provider.allCases.map { _ in nil }

    package init() {}

    /// A later element replaces an earlier one of the same provider.
    package init(dictionaryLiteral elements: (Provider, JSONText?)...) {
        for (provider, text) in elements { self[provider] = text }
    }

    package subscript(provider: Provider) -> JSONText? {
        get { texts[Self.place(provider)] }
        set { texts[Self.place(provider)] = newValue }
    }

    package var isEmpty: Bool { texts.allSatisfy { $0 == nil } }

    package var providers: [Provider] { Provider.allCases.filter { self[$0] != nil } }

    private static func place(_ provider: Provider) -> Int { Int(provider.rawValue) - 1 }
}

/// The text for one locale. A missing member comes from a broader locale (fr-CA, fr), then the common text.
package struct Localization: Equatable, Sendable {
    /// A BCP 47 tag as the sender wrote it: "fr", "fr-CA", "zh-Hant-TW".
    package let locale: String
    package let text: NotificationText

    package init(locale: String, text: NotificationText) { (self.locale, self.text) = (locale, text) }
}

package struct NotificationText: Equatable, Sendable {
    package var title: String?
    package var subtitle: String?
    package var body: String?
    /// The address of a picture that stands in the notification.
    package var image: String?
    /// The address that the app opens when the notification is tapped.
    package var link: String?

    package init(
        title: String? = nil, subtitle: String? = nil, body: String? = nil, image: String? = nil, link: String? = nil
    ) { (self.title, self.subtitle, self.body, self.image, self.link) = (title, subtitle, body, image, link) }

    package subscript(part: NotificationPart) -> String? {
        get {
            switch part {
            case .title: title
            case .subtitle: subtitle
            case .body: body
            case .image: image
            case .link: link
            }
        }
        set {
            switch part {
            case .title: title = newValue
            case .subtitle: subtitle = newValue
            case .body: body = newValue
            case .image: image = newValue
            case .link: link = newValue
            }
        }
    }

    /// Makes a text of what a function returns for each part.
    package init<Fault: Error>(_ part: (NotificationPart) throws(Fault) -> String?) throws(Fault) {
        self.init()
        for each in NotificationPart.allCases { self[each] = try part(each) }
    }

    /// The length of all its parts, in UTF-8.
    package var byteCount: Int { NotificationPart.allCases.reduce(0) { $0 + (self[$1]?.utf8.count ?? 0) } }
}

/// The parts of a notification that may differ by language. The names are the API's.
package enum NotificationPart: String, CaseIterable, Sendable {
    case title, subtitle, body, image, link

    /// Whether it is a web address, and no text.
    package var isAddress: Bool { self == .image || self == .link }
}

/// How devices present a notification. What a provider's devices don't know is left out for them.
package struct NotificationPresentation: Equatable, Sendable {
    /// The id of a group of actions that the app has registered (Apple).
    package var category: String?
    /// The id of a notification channel that the app has made (Android).
    package var channel: String?
    /// The id that groups notifications (Apple).
    package var thread: String?
    /// nil: the provider's default, which is `active`.
    package var interruption: InterruptionLevel?

    package init(
        category: String? = nil, channel: String? = nil, thread: String? = nil, interruption: InterruptionLevel? = nil
    ) { (self.category, self.channel, self.thread, self.interruption) = (category, channel, thread, interruption) }

    package var isEmpty: Bool { self == NotificationPresentation() }
}

/// How much a notification may disturb. It says nothing of how fast it is delivered (`PushPriority`).
///
/// Source: Apple, "UNNotificationInterruptionLevel".
package enum InterruptionLevel: String, Hashable, Sendable, NamedCase {
    /// Added to the list without light or sound.
    case passive
    /// Shown at once, with light and sound.
    case active
    /// Shown although the person asked for quiet, if they allow that.
    case timeSensitive = "time_sensitive"
    /// Shown and heard although the device is muted. Apple gives apps the right to it.
    case critical

    package var name: String { rawValue }
}

package enum BadgeChange: Hashable, Sendable {
    case none
    /// Adds one, once per (message, device).
    case increment
    /// Sets this number, in the registry too. Never negative.
    case value(Int32)
}

package struct DataMember: Equatable, Sendable {
    package let name: String
    package let json: JSONText

    package init(name: String, json: JSONText) { (self.name, self.json) = (name, json) }
}

/// One JSON value as text: valid, without white space. The code that creates one vouches for that (module JSON does).
package struct JSONText: Hashable, Sendable, CustomStringConvertible {
    package let bytes: [UInt8]
    package init(bytes: [UInt8]) { self.bytes = bytes }

    /// The size only, because the contents are secret.
    package var description: String { "JSON of \(bytes.count) bytes" }
}

package enum PushPriority: Int16, Hashable, Sendable, NamedCase {
    /// Delivered at the device's convenience.
    case normal = 1
    /// Delivered at once.
    case high = 2

    package var name: String {
        switch self {
        case .normal: "normal"
        case .high: "high"
        }
    }
}

package struct MessageOptions: Equatable, Sendable {
    /// The priority; nil: the push type's default (high, if it has a choice).
    package var priority: PushPriority?
    /// The time to live of a push from its due time. 0: now or never. nil: a day.
    package var ttlSeconds: Int32?
    /// The collapse id; nil: derived from the message id, so that a repeat is shown once (P4).
    package var collapseID: String?
    package var pushType: PushType
    /// Whether nothing is delivered: APNs pushes are only built and checked, FCM's are sent with `validate_only`.
    package var isDryRun: Bool
    package var ignored: AppLimits = []
    /// Whether each push may carry its message's id to the app, where the provider has no other place for it.
    package var carriesIdentity = true

    package init(
        priority: PushPriority? = nil, ttlSeconds: Int32? = nil, collapseID: String? = nil,
        pushType: PushType = .alert, isDryRun: Bool = false
    ) {
        (self.priority, self.ttlSeconds, self.collapseID) = (priority, ttlSeconds, collapseID)
        (self.pushType, self.isDryRun) = (pushType, isDryRun)
    }

    /// The lifetime of a push without a time to live.
    package static let lifetimeDefault: Duration = .seconds(86_400)
    /// A push that is "now or never" still needs time to be sent and retried once.
    package static let lifetimeNowOrNever: Duration = .seconds(30)
    /// The longest time that every provider keeps a push: FCM's 28 days (APNs: 30).
    package static let ttlSecondsMax: Int32 = 2_419_200

    /// The time from a push's due time to its `expires_at`.
    package var lifetime: Duration {
        guard let ttlSeconds else { return Self.lifetimeDefault }
        return ttlSeconds > 0 ? .seconds(Int64(ttlSeconds)) : Self.lifetimeNowOrNever
    }
}
