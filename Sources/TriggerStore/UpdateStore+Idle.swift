import Basis
import Postgres
import Store
import Synchronization
import TriggerRules

extension UpdateStore {
    /// The time without updates after which an item is removed that has no subscription.
    package static let idleKept: Duration = .seconds(30 * 86_400)
    /// The items that one call looks at.
    static let lookedAtMax: Int64 = 5_000

    /// Looks at the next items of all apps, and removes those that have no subscription and had no update for `idleKept`.
    ///
    /// It walks the items by rising id: each update would have to write an index by their last update.
    ///
    /// - Returns: whether more are left to look at. After the last one it begins anew.
    package func removeIdle(now: WallInstant? = nil) async throws(StoreFault) -> Bool {
        try await translating { () throws(PostgresError) in
            let find = Query(IdleItemSQL.find) {
                $0.int64("after", idleCursor.last)
                $0.int64("age_us", Self.idleKept.wholeMicroseconds)
                $0.int64("limit", Self.lookedAtMax)
                $0.instant("now", now)
            }
            let found = try await pool.runThroughKeys(find, isReadOnly: true).one { row throws(PostgresError) in
                (count: try row.int64(), last: try row.int64(), idle: try row.int64Array())
            }
            if !found.idle.isEmpty { try await remove(found.idle, now) }
            let isLast = found.count < Self.lookedAtMax
            idleCursor.last = isLast ? 0 : found.last
            return !isLast
        }
    }

    /// An item may have been updated or subscribed to since these were found. Either transaction locks the item first.
    private func remove(_ items: [Int64], _ now: WallInstant?) async throws(PostgresError) {
        try await pool.retryingTransaction { transaction throws(PostgresError) in
            let lock = Query(IdleItemSQL.lock) { $0.int64Array("items", items) }
            let locked = try await transaction.runThroughKeys(lock).map(Int64.init)
            let remove = Query(IdleItemSQL.remove) {
                $0.int64Array("items", locked)
                $0.int64("age_us", Self.idleKept.wholeMicroseconds)
                $0.instant("now", now)
            }
            _ = try await transaction.runAndCommit([remove])
        }
    }
}

/// The row up to which this process has looked for ones that nobody uses.
final class SweepCursor: Sendable {
    private let id = Atomic<Int64>(0)

    var last: Int64 {
        get { id.load(ordering: .relaxed) }
        set { id.store(newValue, ordering: .relaxed) }
    }
}

/// Items that nobody subscribes to and nobody updates. They run under `PlannerSQL.throughKeys`.
enum IdleItemSQL {
    // `now()` stands still.
    private static let isOld = "updated_at < coalesce(:now, now()) - :age_us * interval '1 microsecond'"

    /// The items have a collation of their own, which the index of triggered subscriptions has not.
    private static let isUnused = """
        NOT EXISTS (SELECT FROM item_followers WHERE item_id = i.id)
            AND NOT EXISTS (SELECT FROM armed WHERE item_id = i.id)
            AND NOT EXISTS (SELECT FROM armed_other WHERE item_id = i.id)
            AND NOT EXISTS (SELECT FROM item_due WHERE item_id = i.id)
            AND NOT EXISTS (
                SELECT FROM item_subscriptions s
                WHERE s.status = \(SubscriptionStatus.triggered.sql) AND s.items @> ARRAY[i.name COLLATE "default"]
                    AND s.app_id = i.app_id)
        """

    /// The next items: how many, the id of the last one, and those without a recent update.
    static let find = Statement(
        "idle_items_find",
        """
        SELECT count(*), coalesce(max(id), 0), coalesce(array_agg(id) FILTER (WHERE is_old), '{}')
        FROM (SELECT id, \(isOld) AS is_old FROM items WHERE id > :after ORDER BY id LIMIT :limit) AS found
        """)

    static let lock = Statement(
        "idle_items_lock",
        "SELECT i.id FROM items i WHERE i.id = ANY (:items) AND \(isUnused) ORDER BY i.id FOR UPDATE SKIP LOCKED")

    static let remove = Statement(
        "idle_items_remove", "DELETE FROM items i WHERE i.id = ANY (:items) AND \(isOld) AND \(isUnused)")
}
