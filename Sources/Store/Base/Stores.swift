import Model
import Postgres

/// The registry and the queue over one pool: what the roof makes once and hands to the running service.
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
    ///   - appsFreshFor: how old the answer to a slug may be.
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
    /// The last statements of a transaction. Where somebody listens, the server has answered them, and nothing is
    /// committed, when the step is told; else the COMMIT travels with them.
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
    /// A statement that is a transaction by itself; returns the count that its answer is read as. Where somebody listens,
    /// the server has answered it, and nothing is committed, when the step is told. To find nothing to do is no step.
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
