import Model
import Store
import WakeUpRules

/// How a fan-out divides its work.
package struct FanOutOrder: Equatable, Sendable {
    /// The most subscriptions of one transaction. A watch with more has several, one after the other.
    package let subscriptionsMax: Int
    /// The most subscriptions of a watch that shares its transaction with others.
    package let fewSubscriptions: Int
    package let parcelMembersMax: Int
    /// The format of the messages' contents.
    package let format: Int16

    package init(subscriptionsMax: Int, fewSubscriptions: Int = 64, parcelMembersMax: Int, format: Int16) {
        (self.subscriptionsMax, self.fewSubscriptions) = (subscriptionsMax, fewSubscriptions)
        (self.parcelMembersMax, self.format) = (parcelMembersMax, format)
    }
}

/// Subscriptions of a watch that get the same message.
package struct FanOutGroup: Sendable {
    package let watch: WatchSnapshot
    private let group: WakeUpGroup

    init(_ watch: WatchSnapshot, _ group: WakeUpGroup) { (self.watch, self.group) = (watch, group) }

    package var mode: WakeUpMode { group.mode }
    package var provider: Provider { group.provider }
    /// The children that changed since the group's last message; nil: which ones is not known.
    package var changes: ChildChanges? { watch.changes(after: group.sentSeq) }
}

/// Devices that are notified that their subscriptions to one path have ended.
package struct RevocationGroup: Sendable {
    package let address: WakeUpAddress
    package let settings: WakeUpSettings
    package let provider: Provider
    package let reason: RevocationReason
}

/// Makes the messages of fan-outs and revocations. Called within transactions, so neither may wait. nil: there is
/// nothing to report.
package struct FanOutContents: Sendable {
    let change: @Sendable (FanOutGroup) -> FanOutContent?
    let revocation: @Sendable (RevocationGroup) -> FanOutContent?

    package init(
        change: @escaping @Sendable (FanOutGroup) -> FanOutContent?,
        revocation: @escaping @Sendable (RevocationGroup) -> FanOutContent?
    ) { (self.change, self.revocation) = (change, revocation) }
}

/// The message for a group.
package struct FanOutContent: Sendable {
    package let id: MessageID
    package let content: [UInt8]
    package let pushType: PushType
    package let lifetime: Duration

    package init(id: MessageID, content: [UInt8], pushType: PushType, lifetime: Duration) {
        (self.id, self.content, self.pushType, self.lifetime) = (id, content, pushType, lifetime)
    }
}

package enum FanOutReply: Equatable, Sendable {
    /// No watch is due, or others are working on all of them.
    case nothing
    /// Messages are committed, with their parcels.
    case notified(messages: Int, subscriptions: Int, WrittenParcels)

    package var written: WrittenParcels {
        if case .notified(_, _, let written) = self { written } else { WrittenParcels() }
    }
}

extension MessageDraft {
    /// The most receivers of a message that no broadcast may delay.
    private static let transactionalMax = 100

    /// A message of the gateway's own: a wake-up, or the notice of a revocation.
    /// - Parameter ownValues: one for each member, in their order; nil: none has one.
    init(
        _ content: FanOutContent, _ origin: MessageOrigin, app: AppID, audience: Audience.Selection, members: [Member],
        ownValues: [[UInt8]]? = nil, _ order: FanOutOrder
    ) {
        var message = NewMessage(
            id: content.id, app: app, format: order.format,
            urgency: members.count <= Self.transactionalMax ? .transactional : .bulk, kind: .wakeUp, badge: .none,
            lifetime: content.lifetime, content: content.content, audience: Audience(audience),
            pushType: content.pushType)
        (message.ignoredLimits, message.origin) = (.all, origin)
        self.init(message, to: members, ownValues: ownValues, parcelMembersMax: order.parcelMembersMax)
    }
}
