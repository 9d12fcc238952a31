import Content
import Model
import Store
import WakeUpRules
import WakeUpStore

/// Ends single subscriptions for an operator, each with a notice to its device.
package struct SubscriptionRevoker: Sendable {
    private let store: FanOutStore

    /// One subscription makes one parcel of one member.
    private static let order = FanOutOrder(subscriptionsMax: 1, parcelMembersMax: 1, format: StoredContent.format)

    package init(store: FanOutStore) { self.store = store }

    /// Returns false if the app has no such subscription.
    package func revoke(_ subscription: SubscriptionID, app: AppID) async throws(StoreFault) -> Bool {
        let contents = WakeUpContents(delivery: nil).all
        return try await store.revoke(subscription, app: app, Self.order, contents: contents) != .nothing
    }

    /// Ends the subscriptions of a path, of a state, or of both, in the background.
    package func revokeAll(_ path: NodePath?, _ state: SubscriptionState?, app: AppID) async throws(StoreFault) {
        try await store.order(endOf: path, state, app: app)
    }
}
