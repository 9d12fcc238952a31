import Postgres

/// Instructions to the server's query planner.
///
/// Statistics follow the rows by a minute at the earliest, and a mass load is over by then. They may say that a table
/// is empty, or that an app with a million registrations has one. A plan that looks cheap by such figures reads a
/// table, or an app, once for each batch, and the load turns quadratic. So these settings choose the plan, not the
/// statistics.
package enum PlannerSQL {
    /// For the rest of the transaction, the planner finds the rows of a list one by one through their keys. Its plans
    /// are made once, for any values.
    ///
    /// Only for statements that look up rows by lists of keys: without hash and merge joins, two joined lists are
    /// compared all with all. A plan stays with its connection, so a statement that runs under this must never run
    /// without it.
    package static let throughKeys = Statement("planner_through_keys", "SELECT \(settings)")

    /// The same, in the order of the key: a bitmap scan would lock the rows in the order of their pages.
    package static let inKeyOrder = Statement(
        "planner_in_key_order", "SELECT \(settings), set_config('enable_bitmapscan', 'off', true)")

    private static let settings = """
        set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
            set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
            set_config('enable_material', 'off', true), set_config('enable_sort', 'off', true),
            set_config('enable_incremental_sort', 'off', true)
        """
}

extension PostgresPool {
    /// Runs a query under `PlannerSQL.throughKeys`, in a transaction of its own.
    package func runThroughKeys(_ query: Query, isReadOnly: Bool = false) async throws(PostgresError) -> ResultSet {
        try await run([Query(PlannerSQL.throughKeys), query], transaction: .init(isReadOnly: isReadOnly))[1]
    }
}

extension PostgresTransaction {
    /// Sets `PlannerSQL.throughKeys` for the rest of the transaction, and runs a query.
    package func runThroughKeys(_ query: Query) async throws(PostgresError) -> ResultSet {
        try await run([Query(PlannerSQL.throughKeys), query])[1]
    }
}
