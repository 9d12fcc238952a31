import Postgres
import Store

// The end of devices that only users' tokens made.
extension ItemSubscriptionStore {
    /// Removes subscriptions. A device that only users' tokens made is forgotten with its last one, unless it subscribes
    /// to data too. Committed when this returns.
    ///
    /// An activation locks the registration as well. So it either comes before, and the device stays, or it finds none.
    ///
    /// - Parameters:
    ///   - removal: answers with the registration of each removed subscription.
    ///   - registrations: those that it may be about, rising.
    /// - Returns: the number of removed subscriptions.
    func remove(by removal: Query, of registrations: [Int64]) async throws(StoreFault) -> Int {
        let locks = [ForgettingSQL.lock, ForgettingSQL.lockWindows].map {
            Query($0) { $0.int64Array("registrations", registrations) }
        }
        return try await translated(
            await pool.retryingTransaction { transaction throws(PostgresError) -> Int in
                let answers = try await transaction.run([Query(PlannerSQL.throughKeys)] + locks + [removal])
                let own = Set(try answers[1].map(Int64.init))
                let removed = try answers[3].map(Int64.init)
                let left = removed.filter(own.contains).rising
                if !left.isEmpty {
                    _ = try await transaction.runAndCommit([
                        Query(ForgettingSQL.forget) { $0.int64Array("registrations", left) }
                    ])
                }
                return removed.count
            })
    }
}

/// Registrations that only users' tokens made. The statements run under `PlannerSQL.throughKeys`.
///
/// Their windows are locked before subscriptions, as in releases.
enum ForgettingSQL {
    private static let own = "id = ANY (:registrations) AND NOT is_backends"

    static let lock = Statement(
        "item_subscription_lock_own", "SELECT id FROM registrations WHERE \(own) ORDER BY id FOR UPDATE")

    static let lockWindows = Statement(
        "item_subscription_lock_own_windows",
        """
        SELECT registration_id FROM device_windows
        WHERE registration_id = ANY (ARRAY(SELECT id FROM registrations WHERE \(own)))
        ORDER BY registration_id FOR UPDATE
        """)

    static let forget = Statement(
        "item_subscription_forget_devices",
        """
        DELETE FROM registrations r WHERE \(own)
            AND (SELECT true FROM item_subscriptions WHERE registration_id = r.id LIMIT 1) IS NULL
            AND (SELECT true FROM subscriptions WHERE registration_id = r.id LIMIT 1) IS NULL
        """)
}
