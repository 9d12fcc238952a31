import Postgres

/// The stores over one pool. The program makes them once and hands them to the running service.
///
/// A service with statements of its own keeps them in a target of their own, such as `WakeUpStore`. Its stores are made
/// beside these.
package struct Stores: Sendable {
    /// The pool of all stores, for those that are made beside them.
    package let pool: PostgresPool
    package let registry: RegistryStore
    package let messages: MessageStore
    package let parcels: ParcelStore
    package let stops: StopStore
    package let feedback: FeedbackStore
    package let credentials: CredentialStore
    package let keys: KeyStore
    package let sweeper: Sweeper
    package let notifier: WorkNotifier
    package let context: ServiceContext
    /// The read rules of apps, which leases ask. Stores beside these share its cache.
    package let rules: RuleReader

    /// - Parameter appsFreshFor: how long an app that was found by its slug is cached.
    package init(
        pool: PostgresPool, _ context: ServiceContext = ServiceContext(),
        appsFreshFor: Duration = SlugCache.usuallyFreshFor
    ) {
        (self.pool, self.context) = (pool, context)
        notifier = WorkNotifier(pool: pool)
        registry = RegistryStore(pool: pool, notifier: notifier, appsFreshFor: appsFreshFor)
        messages = MessageStore(pool: pool, notifier: notifier, steps: context.steps)
        rules = RuleReader()
        parcels = ParcelStore(pool: pool, notifier: notifier, rules: rules)
        stops = StopStore(pool: pool, notifier: notifier, steps: context.steps)
        feedback = FeedbackStore(pool: pool)
        credentials = CredentialStore(pool: pool, notifier: notifier)
        keys = KeyStore(pool: pool)
        sweeper = Sweeper(pool: pool)
    }
}
