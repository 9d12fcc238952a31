/// A change at a subscribed path, or the end of the subscription.
///
/// ```swift
/// switch notification.event {
/// case .valueChange(.value(let value)): show(value)
///
/// case .valueChange(.hidden), .valueChange(.tooBig): readAgain()
///
/// case .childrenUpdate(.full(let details)): merge(details)
///
/// case .childrenUpdate(.onlyKeys), .childrenUpdate(.tooBig): readAgain()
///
/// case .revocation(let reason): subscribeAgain(unless: reason)
/// }
/// ```
public enum WakeUpEvent: Equatable, Sendable {
    /// The value at the path changed. Sent in the modes `value` and `noData`.
    case valueChange(ValueChange)
    /// Children of the path were added, changed or removed. Sent in the mode `childEvent`.
    case childrenUpdate(ChildrenUpdate)
    /// The gateway ended the subscription and sends no further push for it.
    case revocation(reason: RevocationReason)
}

extension WakeUpEvent {
    /// How much a push says about a changed value.
    public enum ValueChange: Equatable, Sendable {
        /// The complete new value; `null` if the node was deleted.
        case value(JSON)
        /// The subscription's mode is `noData`: the app reads the value itself.
        case hidden
        /// The value exceeds the size of a push: the app reads the value itself.
        case tooBig
    }

    /// How much a push says about changed children.
    public enum ChildrenUpdate: Equatable, Sendable {
        /// The keys and the values of the children.
        case full(ChildValues)
        /// The keys alone, because the values exceed the size of a push.
        case onlyKeys(ChildKeys)
        /// Even the keys exceed the size of a push: the app reads all children itself.
        case tooBig
    }

    /// Children with their new values. Each key is the name of a direct child of the path.
    public struct ChildValues: Equatable, Sendable {
        /// The children that did not exist before, with their values.
        public let additions: JSON.Object
        /// The children that existed before, with their new values.
        public let changes: JSON.Object
        /// The keys of the children that no longer exist.
        public let removals: [String]

        public init(additions: JSON.Object, changes: JSON.Object, removals: [String]) {
            (self.additions, self.changes, self.removals) = (additions, changes, removals)
        }

        public static func == (left: ChildValues, right: ChildValues) -> Bool {
            left.additions == right.additions && left.changes == right.changes
                && left.removals.hasSameBytes(as: right.removals)
        }
    }

    /// The keys of changed children without their values. Each is the name of a direct child of the path.
    public struct ChildKeys: Equatable, Sendable {
        /// The keys of the children that did not exist before.
        public let additions: [String]
        /// The keys of the children that existed before and have a new value.
        public let changes: [String]
        /// The keys of the children that no longer exist.
        public let removals: [String]

        public init(additions: [String], changes: [String], removals: [String]) {
            (self.additions, self.changes, self.removals) = (additions, changes, removals)
        }

        public static func == (left: ChildKeys, right: ChildKeys) -> Bool {
            left.additions.hasSameBytes(as: right.additions) && left.changes.hasSameBytes(as: right.changes)
                && left.removals.hasSameBytes(as: right.removals)
        }
    }
}
