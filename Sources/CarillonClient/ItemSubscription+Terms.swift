import Foundation

extension ItemSubscription {
    /// A subscription as an app asks for it: the items and fields, the condition, and the push.
    ///
    /// ```swift
    /// var terms = ItemSubscription.Terms(items: ["anduct"], fields: ["stock_name", "last_price"])
    /// terms.notification = ["body": "Stock ${stock_name} is now ${last_price}"]
    /// terms.badge = .automatic
    /// ```
    ///
    /// `${last_price}` and `$[2]`, the place in `fields` from 1, stand for the text of a field in all texts of the push.
    /// Members that are nil have the gateway's default. Equality compares texts by their UTF-8 bytes.
    public struct Terms: Sendable {
        /// 1 to 50 names. An update of any of them counts.
        public var items: [String]
        /// 1 to 50 names. Their order gives `$[1]` and so on.
        public var fields: [String]
        public var mode = Mode.merge
        /// A condition in Java's form, such as `Double.parseDouble(${last_price}) > 100.0`. The first update that satisfies
        /// it makes a push, and the subscription is triggered. nil: each update makes a push.
        public var trigger: String?
        /// The members `title`, `body` and so on of a message's notification; nil: the push is data alone.
        public var notification: JSON.Object?
        public var sound: String?
        public var badge: Badge?
        /// The category of a notification with actions; also a member of `notification`, but not of both.
        public var category: String?
        /// The thread that groups notifications; also a member of `notification`, but not of both.
        public var thread: String?
        /// The members for the app's own logic.
        public var data: JSON.Object?
        /// Objects in the providers' own forms.
        public var overrides: [DeviceRegistration.Provider: JSON.Object] = [:]
        /// FCM: a push replaces those with the same key that still wait for the device.
        public var collapseKey: String?
        /// FCM: whether the push may wait while the device is idle.
        public var delaysWhileIdle: Bool?
        /// The time for which the provider keeps a push for a device that it can't reach. Whole seconds.
        public var timeToLive: Duration?
        /// The device's pause after a push of this subscription. Whole seconds, up to a day; nil: the app's.
        public var pause: Duration?
        public var whenPaused = WhenPaused.newest
        /// The end of the subscription; nil: it has none.
        public var expiresAt: Date?

        public init(items: [String], fields: [String], trigger: String? = nil) {
            (self.items, self.fields, self.trigger) = (items, fields, trigger)
        }
    }
}

extension ItemSubscription.Terms: Equatable {
    public static func == (left: Self, right: Self) -> Bool { left.members == right.members }
}

extension ItemSubscription.Terms {
    /// The members of a request.
    var members: JSON.Object {
        let given: [(name: String, value: JSON?)] = [
            ("items", Self.json(items)), ("fields", Self.json(fields)), ("mode", Self.json(mode.rawValue)),
            ("trigger", Self.json(trigger)), ("notification", Self.json(notification)), ("sound", Self.json(sound)),
            ("badge", badgeMember), ("category", Self.json(category)), ("thread", Self.json(thread)),
            ("data", Self.json(data)), ("collapse_key", Self.json(collapseKey)),
            ("delay_while_idle", delaysWhileIdle.map { JSON.bool($0) }), ("time_to_live", Self.json(timeToLive)),
            ("pause_seconds", Self.json(pause)), ("when_paused", Self.json(whenPaused.rawValue)),
            ("expires_at", Self.json(expiresAt.map { InstantText.text($0) })),
        ]
        let own: [(name: String, value: JSON?)] = overrides.sorted { $0.key.rawValue < $1.key.rawValue }.map {
            (name: $0.key.rawValue, value: Self.json($0.value))
        }
        return JSON.Object(given: given + own)
    }

    private static func json(_ texts: [String]) -> JSON { .array(texts.map { JSON.string($0) }) }
    private static func json(_ text: String?) -> JSON? { text.map { JSON.string($0) } }
    private static func json(_ object: JSON.Object?) -> JSON? { object.map { JSON.object($0) } }
    private static func json(_ duration: Duration?) -> JSON? {
        duration.map { JSON.number(JSON.Number($0.components.seconds)) }
    }

    private var badgeMember: JSON? {
        switch badge {
        case .automatic: JSON.string(Self.automaticBadge)
        case .number(let number): JSON.number(JSON.Number(number))
        case nil: nil
        }
    }

    /// The members of a modification: those with another value than before, and null for those that have none any more.
    func changes(since former: Self) -> JSON.Object {
        let (members, before) = (members, former.members)
        let changed = members.filter { before[$0.name] != $0.value }
        let removed = before.names.filter { members[$0] == nil }.map { (name: $0, value: JSON.null) }
        return JSON.Object(changed + removed)
    }

    private static let automaticBadge = "AUTO"

    /// Reads the members of an answer, and ignores those that it doesn't know. nil if the names are missing.
    init?(_ members: JSON.Object) {
        func texts(_ name: String) -> [String]? { members[name]?.array?.compactMap(\.string) }
        func seconds(_ name: String) -> Duration? { members[name]?.integerOrText.map { Duration.seconds($0) } }
        guard let items = texts("items"), let fields = texts("fields") else { return nil }
        self.init(items: items, fields: fields, trigger: members["trigger"]?.string)
        if let mode = members["mode"]?.string { self.mode = ItemSubscription.Mode(rawValue: mode) }
        notification = members["notification"]?.object
        sound = members["sound"]?.string
        if members["badge"]?.string == Self.automaticBadge {
            badge = .automatic
        } else {
            badge = members["badge"]?.integerOrText.map { ItemSubscription.Badge.number($0) }
        }
        (category, thread) = (members["category"]?.string, members["thread"]?.string)
        data = members["data"]?.object
        for provider in DeviceRegistration.Provider.known { overrides[provider] = members[provider.rawValue]?.object }
        collapseKey = members["collapse_key"]?.string
        delaysWhileIdle = members["delay_while_idle"].flatMap { $0.bool ?? $0.string.flatMap { Bool($0) } }
        (timeToLive, pause) = (seconds("time_to_live"), seconds("pause_seconds"))
        if let word = members["when_paused"]?.string { whenPaused = ItemSubscription.WhenPaused(rawValue: word) }
        expiresAt = members["expires_at"]?.string.flatMap(InstantText.date)
    }
}

extension JSON {
    /// A whole number, which an app may have given as a text.
    fileprivate var integerOrText: Int? { int ?? string.flatMap { Int($0) } }
}
