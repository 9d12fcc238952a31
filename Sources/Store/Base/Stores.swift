import Postgres

/// The stores over one pool. The program makes them once and hands them to the running service.
package struct Stores: Sendable {
    package let registry: RegistryStore
    package let messages: MessageStore
    package let parcels: ParcelStore
    package let stops: StopStore
    package let feedback: FeedbackStore
    package let credentials: CredentialStore
    package let keys: KeyStore
    package let nodes: NodeStore
    package let subscriptions: SubscriptionStore
    package let fanOuts: FanOutStore
    package let access: AccessStore
    package let sweeper: Sweeper
    package let notifier: WorkNotifier
    package let context: ServiceContext

    /// - Parameter appsFreshFor: how long an app that was found by its slug is cached.
    package init(
        pool: PostgresPool, _ context: ServiceContext = ServiceContext(),
        appsFreshFor: Duration = SlugCache.usuallyFreshFor
    ) {
        self.context = context
        notifier = WorkNotifier(pool: pool)
        registry = RegistryStore(pool: pool, notifier: notifier, appsFreshFor: appsFreshFor)
        messages = MessageStore(pool: pool, notifier: notifier, steps: context.steps)
        let rules = RuleReader()
        parcels = ParcelStore(pool: pool, notifier: notifier, rules: rules)
        stops = StopStore(pool: pool, notifier: notifier, steps: context.steps)
        feedback = FeedbackStore(pool: pool)
        credentials = CredentialStore(pool: pool, notifier: notifier)
        keys = KeyStore(pool: pool)
        nodes = NodeStore(pool: pool, notifier: notifier)
        subscriptions = SubscriptionStore(pool: pool)
        fanOuts = FanOutStore(pool: pool, notifier: notifier, rules: rules)
        access = AccessStore(pool: pool, rules: rules)
        sweeper = Sweeper(pool: pool)
    }
}
