import Basis
import Postgres
import Store

/// Fan-outs: what changed at watched paths, cut into messages to their subscriptions.
package struct FanOutStore: Sendable {
    let pool: PostgresPool
    let notifier: WorkNotifier
    private let served = LastServedApp()
    let revoked = LastServedApp()
    let rules: RuleReader

    init(pool: PostgresPool, notifier: WorkNotifier, rules: RuleReader) {
        (self.pool, self.notifier, self.rules) = (pool, notifier, rules)
    }

    /// The most watches of one transaction. One with many subscriptions has a transaction to itself.
    package static let watchesMax = 64

    /// Notifies subscriptions of the next due watches of changes, in one transaction. Messages and parcels are
    /// committed with the subscriptions' progress, or none of it is (P1).
    ///
    /// A subscription whose last push has not ended is skipped, and its watch stays due. So it has one push under
    /// way at most, and later changes are merged into its next one.
    ///
    /// - Parameters:
    ///   - order: how the work is divided.
    ///   - leasing: nil: no parcel is leased at once.
    ///   - contents: makes the messages.
    package func fanOut(
        _ order: FanOutOrder, leasing: CutLeasing? = nil, now: WallInstant? = nil, contents: FanOutContents
    ) async throws(StoreFault) -> FanOutReply {
        let reply = try await translated(
            await pool.retryingTransaction { transaction throws(PostgresError) -> FanOutReply in
                var run = FanOutRun(order, now: now, contents, rules)
                guard try await run.claim(after: served.app, in: transaction) else {
                    return await transaction.abandon(returning: .nothing)
                }
                try await run.read(in: transaction)
                let written = try await run.write(in: transaction, leasing: leasing)
                if let last = run.lastApp { served.app = last }
                return .notified(messages: run.messages.count, subscriptions: run.notifiedCount, written)
            })
        if !reply.written.ready.isEmpty { notifier.notify(.parcels) }
        return reply
    }

    /// How long it is until the next watch falls due; nil: none will.
    package func nextDue() async throws(StoreFault) -> Duration? {
        let wait = try await translated(
            await pool.read(Query(FanOutSQL.nextDue)).one { row throws(PostgresError) in try row.int64OrNil() })
        return wait.map { .microseconds(max(0, $0)) }
    }
}
