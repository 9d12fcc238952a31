/// The id of a watch: a path of an app's data tree that has subscriptions.
package struct WatchID: Hashable, Comparable, Sendable {
    package let value: Int64
    package init(_ value: Int64) { self.value = value }
    package static func < (left: WatchID, right: WatchID) -> Bool { left.value < right.value }
}

/// The id of a registration's interest in a watch.
package struct SubscriptionID: Hashable, Comparable, Sendable {
    package let value: Int64
    package init(_ value: Int64) { self.value = value }
    package static func < (left: SubscriptionID, right: SubscriptionID) -> Bool { left.value < right.value }
}

/// The data that a wake-up carries. The numbers are stored in the database.
package enum WakeUpMode: Int16, Hashable, Sendable, NamedCase {
    /// None: the app reads what it needs.
    case noData = 1
    /// The whole new value of the node.
    case value = 2
    /// The children of the node that were added, removed and changed.
    case childEvent = 3

    package var name: String {
        switch self {
        case .noData: "noData"
        case .value: "value"
        case .childEvent: "childEvent"
        }
    }
}

/// The cause of a message. The numbers are stored in the database.
///
/// Lists and backlogs count senders' messages alone.
package enum MessageOrigin: Int16, Hashable, Sendable {
    case sender = 0
    /// A change of a watched node.
    case wakeUp = 1
    /// An update of an item.
    case update = 2
    /// The end of subscriptions.
    case revocation = 3
}
