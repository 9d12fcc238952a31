import Basis
import Postgres
import Store

extension ItemSubscriptionStore {
    /// The most subscriptions or templates of one transaction.
    static let removedMax: Int64 = 1_000

    /// Removes subscriptions that have expired, a bounded number of them, with the pushes that they hold. Devices may be
    /// forgotten with them.
    ///
    /// - Returns: whether more may be left.
    package func removeExpired(now: WallInstant? = nil) async throws(StoreFault) -> Bool {
        let find = Query(ItemSubscriptionSQL.findExpired) {
            $0.instant("now", now)
            $0.int64("limit", Self.removedMax)
        }
        let found = try await translated(
            await pool.runThroughKeys(find, isReadOnly: true).map { row throws(PostgresError) in
                (id: try row.int64(), registration: try row.int64())
            })
        if found.isEmpty { return false }
        let remove = Query(ItemSubscriptionSQL.removeExpired) {
            $0.int64Array("subscriptions", found.map(\.id))
            $0.instant("now", now)
        }
        return try await self.remove(by: remove, of: found.map(\.registration).rising) > 0
    }

    /// Looks at the next templates, and removes those that no subscription has.
    ///
    /// - Returns: whether more are left to look at. After the last one it begins anew.
    package func removeUnusedTemplates() async throws(StoreFault) -> Bool {
        try await translating { () throws(PostgresError) in
            let find = Query(PushTemplateSQL.find) {
                $0.int64("after", templates.last)
                $0.int64("limit", Self.removedMax)
            }
            let found = try await pool.runThroughKeys(find, isReadOnly: true).map { row throws(PostgresError) in
                (id: try row.int64(), isUsed: try row.bool())
            }
            let unused = found.filter { !$0.isUsed }.map(\.id)
            if !unused.isEmpty { try await remove(unused) }
            let isLast = found.count < Int(Self.removedMax)
            templates.last = isLast ? 0 : found.last?.id ?? 0
            return !isLast
        }
    }

    /// A subscription may have been made since these were found. Its transaction locks the template first.
    private func remove(_ templates: [Int64]) async throws(PostgresError) {
        try await pool.retryingTransaction { transaction throws(PostgresError) in
            let lock = Query(PushTemplateSQL.lock) { $0.int64Array("templates", templates) }
            let locked = try await transaction.runThroughKeys(lock).map(Int64.init)
            _ = try await transaction.runAndCommit([
                Query(PushTemplateSQL.remove) { $0.int64Array("templates", locked) }
            ])
        }
    }
}

/// Templates that no subscription has any more. They run under `PlannerSQL.throughKeys`.
enum PushTemplateSQL {
    static let find = Statement(
        "push_templates_find",
        """
        SELECT id, (SELECT true FROM item_subscriptions WHERE template_id = t.id LIMIT 1) IS NOT NULL
        FROM push_templates t WHERE id > :after ORDER BY id LIMIT :limit
        """)

    static let lock = Statement(
        "push_templates_lock",
        "SELECT id FROM push_templates WHERE id = ANY (:templates) ORDER BY id FOR UPDATE SKIP LOCKED")

    static let remove = Statement(
        "push_templates_remove",
        """
        DELETE FROM push_templates t WHERE id = ANY (:templates)
            AND NOT EXISTS (SELECT FROM item_subscriptions WHERE template_id = t.id)
        """)
}
