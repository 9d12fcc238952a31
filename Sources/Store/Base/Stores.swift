import Model
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
    package let sweeper: Sweeper
    package let notifier: WorkNotifier

    /// - Parameters:
    ///   - steps: nil in production.
    ///   - appsFreshFor: how long an app that was found by its slug is cached.
    package init(
        pool: PostgresPool, steps: (any StepListener)? = nil, appsFreshFor: Duration = SlugCache.usuallyFreshFor
    ) {
        notifier = WorkNotifier(pool: pool)
        registry = RegistryStore(pool: pool, notifier: notifier, appsFreshFor: appsFreshFor)
        messages = MessageStore(pool: pool, notifier: notifier, steps: steps)
        parcels = ParcelStore(pool: pool, notifier: notifier, steps: steps)
        stops = StopStore(pool: pool, notifier: notifier, steps: steps)
        feedback = FeedbackStore(pool: pool)
        credentials = CredentialStore(pool: pool, notifier: notifier)
        keys = KeyStore(pool: pool)
        sweeper = Sweeper(pool: pool)
    }
}

extension PostgresTransaction {
    /// Runs the last statements of a transaction. If somebody listens, the statements are answered but not committed
    /// when the step is reported. Otherwise the COMMIT travels with them.
    func conclude(
        _ queries: [Query], announcing step: Step, to steps: (any StepListener)?
    ) async throws(PostgresError) -> [ResultSet] {
        guard let steps else { return try await runAndCommit(queries) }
        let answers = try await run(queries)
        steps.reached(step)
        return answers
    }
}

extension PostgresPool {
    /// Runs a statement as a transaction by itself and returns the count that `read` finds in its answer. If somebody
    /// listens, the statement is answered but not committed when the step is reported. A count of 0 is no step.
    func count(
        of query: Query, announcing step: Step, to steps: (any StepListener)?,
        _ read: @Sendable (ResultSet) throws(PostgresError) -> Int
    ) async throws(PostgresError) -> Int {
        guard let steps else { return try read(try await run(query)) }
        return try await transaction { transaction throws(PostgresError) -> Int in
            let count = try read(try await transaction.run(query))
            if count > 0 { steps.reached(step) }
            return count
        }
    }
}
