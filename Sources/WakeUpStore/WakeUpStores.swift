import Store

/// The stores of wake-up: data trees, subscriptions, fan-outs, and who may read. The program makes them once for each of
/// its `Stores`.
package struct WakeUpStores: Sendable {
    package let nodes: NodeStore
    package let subscriptions: SubscriptionStore
    package let fanOuts: FanOutStore
    package let access: AccessStore

    /// - Parameter stores: their pool, their notifier and their read rules are shared.
    package init(beside stores: Stores) {
        nodes = NodeStore(pool: stores.pool, notifier: stores.notifier)
        subscriptions = SubscriptionStore(pool: stores.pool)
        fanOuts = FanOutStore(pool: stores.pool, notifier: stores.notifier, rules: stores.rules)
        access = AccessStore(pool: stores.pool, rules: stores.rules)
    }
}
