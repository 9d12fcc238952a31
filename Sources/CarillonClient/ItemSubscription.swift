import Foundation
import Synchronization

/// A subscription of the device to items: updates of the items become pushes, whose texts they fill.
///
/// The gateway keeps it until it is deactivated or expires. A client has one instance for each key, which its calls
/// update in place. The values are those that the gateway last reported: a trigger that fires since then doesn't show
/// here until the next inquiry.
///
/// Any thread may read it. A read waits for no call.
public final class ItemSubscription: Sendable, Identifiable {
    /// The name of the subscription at the gateway. It never changes.
    public let key: String
    private let report: Mutex<SubscriptionReport>
    private let ended = Mutex(false)

    init(_ report: SubscriptionReport) {
        key = report.key
        self.report = Mutex(report)
    }

    public var id: String { key }

    public var status: Status { report.withLock { $0.status } }

    /// The items, the fields, the trigger and the push, as they were given.
    public var terms: Terms { report.withLock { $0.terms } }

    /// nil if the gateway's answer has none that can be read.
    public var createdAt: Date? { report.withLock { $0.createdAt } }

    /// Whether the gateway has the subscription no more, as far as the client knows. It stays so: a key never comes back.
    public var isDeactivated: Bool { ended.withLock { $0 } }

    func update(_ newer: SubscriptionReport) { report.withLock { $0 = newer } }

    func end() { ended.withLock { $0 = true } }
}

extension ItemSubscription {
    /// Whether updates are looked at. The set is open: a later gateway may send another word.
    public struct Status: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        public static let active = Status(rawValue: "active")
        /// The trigger has fired. No further push is made until the subscription is active again.
        public static let triggered = Status(rawValue: "triggered")
    }

    /// The texts that fields have.
    public struct Mode: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// A field has its last text until an update changes or removes it.
        public static let merge = Mode(rawValue: "MERGE")
        /// Each update stands alone: a field that it does not name has no text.
        public static let distinct = Mode(rawValue: "DISTINCT")
    }

    /// The fate of a push that comes during the device's pause. A trigger's push always waits.
    public struct WhenPaused: RawRepresentable, Hashable, Sendable {
        public let rawValue: String

        public init(rawValue: String) { self.rawValue = rawValue }

        /// It waits for the end of the pause, unless a newer one of the subscription takes its place.
        public static let newest = WhenPaused(rawValue: "newest")
        /// It is dropped.
        public static let drop = WhenPaused(rawValue: "drop")
    }

    /// The number that a push sets on the app's icon.
    public enum Badge: Equatable, Sendable {
        /// The gateway adds one for each push. The app resets the count with `DeviceClient.resetBadge`.
        case automatic
        case number(Int)
    }
}

/// A subscription as an answer of the gateway shows it.
struct SubscriptionReport: Equatable, Sendable {
    let key: String
    let status: ItemSubscription.Status
    let terms: ItemSubscription.Terms
    let createdAt: Date?

    /// nil if a member is missing that every subscription has.
    init?(_ json: JSON) {
        guard let members = json.object, let key = members["key"]?.string, let status = members["status"]?.string,
            let terms = ItemSubscription.Terms(members)
        else { return nil }
        (self.key, self.terms) = (key, terms)
        self.status = ItemSubscription.Status(rawValue: status)
        createdAt = members["created_at"]?.string.flatMap(InstantText.date)
    }
}
