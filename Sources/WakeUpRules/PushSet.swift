import Basis

/// Pushes of messages: those that have not ended, or those that were discarded.
package struct PushSet: Sendable {
    private var members: [UniversalID: Set<Int64>] = [:]  // lookup only
    private var whole: Set<UniversalID> = []  // lookup only

    package init() {}

    package mutating func addAll(of message: UniversalID) { whole.insert(message) }

    package mutating func add(_ message: UniversalID, _ registrations: [Int64]) {
        members[message, default: []].formUnion(registrations)
    }

    /// Whether the subscription's last push is one of them.
    package func includesLastPush(of subscription: SubscriptionStatus) -> Bool {
        guard let message = subscription.message else { return false }
        return whole.contains(message) || members[message]?.contains(subscription.registration) == true
    }
}

extension [SubscriptionStatus] {
    /// The last messages of these subscriptions, each once, by rising id.
    package var lastMessages: [UniversalID] {
        compactMap(\.message).sorted().reduce(into: [UniversalID]()) { messages, message in
            if messages.last != message { messages.append(message) }
        }
    }

    /// The same for those that want to know which children changed. A discarded push matters to these alone: the others
    /// get the data as it is now.
    package var lastMessagesAboutChildren: [UniversalID] { filter { $0.mode == .childEvent }.lastMessages }
}
