import Basis
import TriggerRules

/// A device's subscription to items.
package struct ItemSubscription: Equatable, Sendable {
    package let id: Int64
    /// Its name in the API, which never changes.
    package let key: UniversalID
    package let status: SubscriptionStatus
    /// The threshold of a trigger may be nil here although there is one: the store keeps the trigger's text.
    package let terms: SubscriptionTerms
    /// Rises with each change of the terms.
    package let revision: Int32
    package let createdAt: WallInstant

    package init(
        id: Int64, key: UniversalID, status: SubscriptionStatus, terms: SubscriptionTerms, revision: Int32,
        createdAt: WallInstant
    ) {
        (self.id, self.key, self.status, self.terms) = (id, key, status, terms)
        (self.revision, self.createdAt) = (revision, createdAt)
    }
}

package enum ActivationReply: Equatable, Sendable {
    /// Committed. Not new: it has overwritten a subscription with the same items, fields and trigger.
    case activated(ItemSubscription, isNew: Bool)
    /// The same request was answered before: nothing was written now, and this was its answer.
    case replayed(answer: [UInt8])
    /// The idempotency key was used for another body.
    case mismatch
    /// The device has as many subscriptions as it may have, or the app as many items.
    case tooMany
    /// An item has as many different triggers without a threshold as it may have.
    case tooManyExpressions
    /// The registration was removed, or its user changed since the request was checked.
    case unknownDevice
}

package enum ModificationReply: Equatable, Sendable {
    case modified(ItemSubscription)
    /// The subscription has another revision. Read it again.
    case changedMeanwhile
    /// The device has no such subscription.
    case unknown
    /// The app has as many items as it may have.
    case tooMany
    case tooManyExpressions
}
