import Basis
import Model
import Postgres
import Store

/// The pushes of subscriptions to items: rounds of followers, and held pushes that are released.
///
/// All that a device's window decides is done while the window's row is locked. So no two transactions decide on one
/// device at once, in any process.
package struct ItemPushStore: Sendable {
    let pool: PostgresPool
    let notifier: WorkNotifier
    private let followed = ClaimCursor()
    private let released = ClaimCursor()

    package init(pool: PostgresPool, notifier: WorkNotifier) { (self.pool, self.notifier) = (pool, notifier) }

    /// Notifies followers of the next due items of updates, in one transaction. Messages and parcels are committed with
    /// what the followers were notified of, or none of it is (P1).
    ///
    /// A follower whose device's window is shut holds a push, or gets none if it asks for that. Devices whose token is
    /// retired get none, nor do those of an app that has switched subscriptions off: they are not notified later.
    ///
    /// - Parameters:
    ///   - order: how the work is divided.
    ///   - leasing: nil: no parcel is leased at once.
    ///   - contents: makes the messages.
    package func follow(
        _ order: ItemPushOrder, leasing: CutLeasing? = nil, now: WallInstant? = nil, contents: ItemPushContents
    ) async throws(StoreFault) -> ItemPushReply {
        try await round(followed) { transaction throws(PostgresError) -> ItemPushReply in
            var run = FollowerRun(order, now: now, contents)
            guard try await run.claim(after: followed.app, limit: followed.limit, in: transaction) else {
                return await transaction.abandon(returning: .nothing)
            }
            // This one stays if the round fails.
            followed.app = run.lastApp
            try await run.read(in: transaction)
            let reply = try await run.cut.write(beside: run.notes, leasing: leasing, in: transaction)
            followed.app = run.lastApp
            return reply
        }
    }

    /// Decides on held pushes that are due, in one transaction: each device's first one goes if its window is open.
    ///
    /// While a token is retired or an app has switched subscriptions off, a trigger's push is kept for `HeldPush.keptMax`, and
    /// other pushes are dropped.
    ///
    /// - Parameters:
    ///   - order: how the work is divided.
    ///   - leasing: nil: no parcel is leased at once.
    ///   - contents: makes the messages.
    package func release(
        _ order: ItemPushOrder, leasing: CutLeasing? = nil, now: WallInstant? = nil, contents: ItemPushContents
    ) async throws(StoreFault) -> ItemPushReply {
        try await round(released) { transaction throws(PostgresError) -> ItemPushReply in
            var run = ReleaseRun(order, now: now, contents)
            guard try await run.claim(after: released.app, limit: released.limit, in: transaction) else {
                return await transaction.abandon(returning: .nothing)
            }
            // This one stays if the round fails.
            released.app = run.lastApp
            try await run.read(in: transaction)
            let reply = try await run.cut.write(beside: run.notes, leasing: leasing, in: transaction)
            released.app = run.lastApp
            return reply
        }
    }

    private func round(
        _ cursor: ClaimCursor, _ body: @Sendable (PostgresTransaction) async throws(PostgresError) -> ItemPushReply
    ) async throws(StoreFault) -> ItemPushReply {
        do throws(StoreFault) {
            let reply = try await translated(
                await pool.retryingTransaction { transaction throws(PostgresError) in try await body(transaction) })
            cursor.succeeded()
            if !reply.written.ready.isEmpty { notifier.notify(.parcels) }
            return reply
        } catch {
            cursor.failed()
            throw error
        }
    }

    /// How long it is until the next item or held push falls due; nil: none will.
    package func nextDue() async throws(StoreFault) -> Duration? {
        let wait = try await translated(
            await pool.read(Query(ItemPushSQL.nextDue)).one { row throws(PostgresError) in try row.int64OrNil() })
        return wait.map { .microseconds(max(0, $0)) }
    }
}
