import Basis
import Model
import Postgres
import Store

/// The size of wake-up, and the work that waits. No count exceeds `SubscriptionStore.countMax`.
package struct WakeUpCounts: Equatable, Sendable {
    package var subscriptions: Int64 = 0
    /// The watched paths. One whose last subscription has ended counts until its next change.
    package var watches: Int64 = 0
    /// The watches with changes that were not reported to all their subscriptions.
    package var dueWatches: Int64 = 0
    /// The time from which on the oldest of these could be reported; nil: none is due yet.
    package var dueSince: WallInstant?
    /// The jobs that end subscriptions.
    package var revocations: Int64 = 0
    /// The notices of ended subscriptions that have not reached all their devices.
    package var notices: Int64 = 0

    package init() {}
}

extension SubscriptionStore {
    /// The largest count. A larger one would read an index for seconds.
    package static let countMax: Int64 = 1_000_000

    /// - Parameter app: nil: the counts of all apps together.
    package func counts(of app: AppID?) async throws(StoreFault) -> WakeUpCounts {
        let query =
            app.map { app in
                Query(WakeUpCountSQL.ofApp) {
                    $0.int64("app", app.value)
                    $0.int64("limit", Self.countMax)
                }
            } ?? Query(WakeUpCountSQL.ofAll) { $0.int64("limit", Self.countMax) }
        return try await translated(await pool.runThroughKeys(query, isReadOnly: true).one(WakeUpCounts.init))
    }
}

extension WakeUpCounts {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        (subscriptions, watches) = (try row.int64(), try row.int64())
        (dueWatches, dueSince) = (try row.int64(), try row.instantOrNil())
        (revocations, notices) = (try row.int64(), try row.int64())
    }
}

/// The counts of wake-up, each along an index. They run under `PlannerSQL.throughKeys`.
enum WakeUpCountSQL {
    static let ofApp = counts("wake_up_counts_of_app", "app_id BETWEEN :app AND :app", inOrder: "app_id, due_at")
    static let ofAll = counts("wake_up_counts_of_all", "true", inOrder: "due_at")

    private static let isNotice = """
        origin = \(MessageOrigin.revocation.sql) AND state < \(MessageState.finished.sql)
        """

    private static func counts(_ name: String, _ which: String, inOrder order: String) -> Statement {
        Statement(
            name,
            """
            SELECT \(count("subscriptions", which)), \(count("watches", which)), \(count("due_watches", which)), (
                SELECT CASE WHEN due_at <= clock_timestamp() THEN due_at END
                FROM due_watches WHERE \(which) AND due_at > 'epoch' ORDER BY \(order) LIMIT 1
            ), \(count("revocations", which)), \(count("messages", which + " AND " + isNotice))
            """)
    }

    private static func count(_ table: String, _ which: String) -> String {
        "(SELECT count(*) FROM (SELECT FROM \(table) WHERE \(which) LIMIT :limit) AS counted)"
    }
}
