import Basis
import Model
import Store

/// How rounds of followers and releases of held pushes divide their work.
package struct ItemPushOrder: Equatable, Sendable {
    /// The most subscriptions of one transaction. An item with more followers has several, one after the other.
    package let subscriptionsMax: Int
    package let parcelMembersMax: Int
    /// The format of the messages' contents.
    package let format: Int16

    package init(subscriptionsMax: Int, parcelMembersMax: Int, format: Int16) {
        precondition(subscriptionsMax > 0)
        (self.subscriptionsMax, self.parcelMembersMax) = (subscriptionsMax, parcelMembersMax)
        self.format = format
    }
}

/// Pushes that get the same message: they have one template, and the same texts for its fields.
package struct ItemPushGroup: Sendable {
    package let template: PushTemplateID
    /// The template's message, as it was stored.
    package let content: [UInt8]
    /// The fields of the subscriptions, in their order, and a text for each. nil: the field has no value.
    package let fields: [String]
    package let texts: [String?]
    /// The providers of the devices.
    package let providers: [Provider]
}

/// Makes the messages of subscriptions. Called within transactions, so it may not wait. nil: nothing is sent.
package struct ItemPushContents: Sendable {
    let make: @Sendable (ItemPushGroup) -> ItemPushContent?

    package init(make: @escaping @Sendable (ItemPushGroup) -> ItemPushContent?) { self.make = make }
}

/// The message for a group.
package struct ItemPushContent: Sendable {
    package let id: MessageID
    package let content: [UInt8]
    package let pushType: PushType
    package let badge: BadgeChange
    package let lifetime: Duration
    package let readsLocale: Bool

    package init(
        id: MessageID, content: [UInt8], pushType: PushType, badge: BadgeChange, lifetime: Duration, readsLocale: Bool
    ) {
        (self.id, self.content, self.pushType, self.badge) = (id, content, pushType, badge)
        (self.lifetime, self.readsLocale) = (lifetime, readsLocale)
    }
}

package enum ItemPushReply: Equatable, Sendable {
    /// Nothing is due, or others are working on all of it.
    case nothing
    /// Messages are committed, with their parcels. There may be none: pushes were held, put off or dropped.
    case cut(messages: Int, pushes: Int, WrittenParcels)

    package var written: WrittenParcels {
        if case .cut(_, _, let written) = self { written } else { WrittenParcels() }
    }
}

extension MessageDraft {
    /// The most receivers of a message that no broadcast may delay.
    private static let transactionalMax = 100

    /// A message of subscriptions to items. Leases apply no limits to it: its devices' windows have kept quiet hours, and
    /// daily caps don't count it.
    init(_ content: ItemPushContent, app: AppID, template: PushTemplateID, members: [Member], _ order: ItemPushOrder) {
        var message = NewMessage(
            id: content.id, app: app, format: order.format,
            urgency: members.count <= Self.transactionalMax ? .transactional : .bulk, kind: .alert,
            badge: content.badge, lifetime: content.lifetime, content: content.content,
            audience: Audience(.itemSubscribers(template)), readsLocale: content.readsLocale,
            pushType: content.pushType)
        (message.ignoredLimits, message.origin) = (.all, .update)
        self.init(message, to: members, parcelMembersMax: order.parcelMembersMax)
    }
}
