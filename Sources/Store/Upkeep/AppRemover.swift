import Postgres

/// Removes the rows of deleted apps, a bounded number per call. The next call finds what a crash left behind.
struct AppRemover: Sendable {
    /// The rows of one table per call.
    static let rowsMax: Int64 = 2_000

    let pool: PostgresPool

    /// Removes rows of one app; returns their number. Zero: nothing is left to do, or another process does it.
    ///
    /// The order goes from what is sent to what it needs: plans first, so that no more parcels are cut; the app last,
    /// once a call finds nothing below it.
    func removeSome() async throws(PostgresError) -> Int {
        try await pool.retryingTransaction { transaction throws(PostgresError) -> Int in
            let claimed = try await transaction.runThroughKeys(Query(AppRemovalSQL.claim))
            guard let app = try claimed.first(Int64.init) else { return 0 }
            for step in AppRemovalSQL.steps {
                let query = Query(step) {
                    $0.int64("app", app)
                    $0.int64("limit", Self.rowsMax)
                }
                let count = try await transaction.run(query).affectedRows
                if count > 0 { return count }
            }
            return try await transaction.run(Query(AppRemovalSQL.app) { $0.int64("app", app) }).affectedRows
        }
    }
}
