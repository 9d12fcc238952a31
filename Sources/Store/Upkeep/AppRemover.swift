import Postgres

/// Takes the rows of deleted apps away, a bounded number a call: what is left after a crash is found by the next one.
struct AppRemover: Sendable {
    /// Rows of one table a call.
    static let rowsMax: Int64 = 2_000
    /// A route that goes looks for parcels that name it, which no index finds.
    static let routesMax: Int64 = 20

    let pool: PostgresPool

    /// How many rows went, of one app. Zero: nothing is left to do, or another process does it.
    ///
    /// From what is sent to what it needs: plans first, so that no parcels are cut any more; the app last, once a call
    /// finds nothing below it.
    func removeSome() async throws(PostgresError) -> Int {
        let pool = pool
        return try await pool.retryingConflicts { () throws(PostgresError) in
            try await pool.transaction { transaction throws(PostgresError) -> Int in
                let claimed = try await transaction.run([Query(PlannerSQL.throughKeys), Query(AppRemovalSQL.claim)])[1]
                guard claimed.rowCount == 1 else { return 0 }
                let app = try claimed.int64(0, 0)
                let steps = AppRemovalSQL.steps.map { ($0, Self.rowsMax) } + [(AppRemovalSQL.routes, Self.routesMax)]
                for (step, rowsMax) in steps {
                    let query = Query(step) {
                        $0.int64(app)
                        $0.int64(rowsMax)
                    }
                    let count = try await transaction.run(query).affectedRows
                    if count > 0 { return count }
                }
                return try await transaction.run(Query(AppRemovalSQL.app) { $0.int64(app) }).affectedRows
            }
        }
    }
}
