import Store

/// The stores of items: updates and the triggers that they fire, the subscriptions of devices, and their pushes. The
/// program makes them once for each of its `Stores`.
package struct TriggerStores: Sendable {
    package let updates: UpdateStore
    package let subscriptions: ItemSubscriptionStore
    package let pushes: ItemPushStore

    /// - Parameter stores: their pool and their notifier are shared.
    package init(beside stores: Stores) {
        updates = UpdateStore(pool: stores.pool, notifier: stores.notifier)
        subscriptions = ItemSubscriptionStore(pool: stores.pool)
        pushes = ItemPushStore(pool: stores.pool, notifier: stores.notifier)
    }
}
