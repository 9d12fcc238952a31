import Postgres

/// What the server's planner is told.
///
/// Statistics come a minute after the rows at the earliest, and a mass load is over by then: they may say that a table
/// is empty, or that an app has one registration, while it has a million. A plan that is cheap by such figures reads a
/// table, or an app, once for each batch, and the load turns quadratic. So it's not the figures that choose.
enum PlannerSQL {
    /// For the rest of the transaction, rows of a list are found one by one through their keys, in plans that are made
    /// once and for any values.
    ///
    /// Only for statements that look up rows by lists of keys: without hash and merge joins, two lists that are joined
    /// with each other are compared all with all. A plan stays with its connection, so that a statement that runs under
    /// this must never run without it.
    static let throughKeys = Statement("planner_through_keys", "SELECT \(settings)")

    /// Likewise, and in the order of the key: a bitmap of the index would take the rows' locks in the order of their pages.
    static let inKeyOrder = Statement(
        "planner_in_key_order", "SELECT \(settings), set_config('enable_bitmapscan', 'off', true)")

    private static let settings = """
        set_config('plan_cache_mode', 'force_generic_plan', true), set_config('enable_seqscan', 'off', true),
            set_config('enable_hashjoin', 'off', true), set_config('enable_mergejoin', 'off', true),
            set_config('enable_material', 'off', true), set_config('enable_sort', 'off', true),
            set_config('enable_incremental_sort', 'off', true)
        """
}
