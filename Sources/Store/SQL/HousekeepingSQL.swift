import Postgres

/// Notification and retention.
enum HousekeepingSQL {
    static let notify = Statement("notify", "SELECT pg_notify($1, $2)")

    /// $1 now, $2 age in microseconds, $3 rows at most.
    static let sweepIdempotencyKeys = Statement(
        "sweep_idempotency_keys",
        """
        DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM idempotency_keys
            WHERE created_at < coalesce($1, clock_timestamp()) - $2 * interval '1 microsecond'
            ORDER BY created_at LIMIT $3 FOR UPDATE SKIP LOCKED))
        """)

    /// $1 now, $2 age in microseconds, $3 rows at most.
    static let sweepRouteMinutes = Statement(
        "sweep_route_minutes",
        """
        DELETE FROM route_minutes WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM route_minutes
            WHERE minute < coalesce($1, clock_timestamp()) - $2 * interval '1 microsecond'
            LIMIT $3 FOR UPDATE SKIP LOCKED))
        """)

    /// $1 now, $2 rows at most.
    static let sweepLaneBlocks = Statement(
        "sweep_lane_blocks",
        """
        DELETE FROM lane_blocks WHERE credential_id = ANY (ARRAY(
            SELECT credential_id FROM lane_blocks WHERE until < coalesce($1, clock_timestamp())
            LIMIT $2 FOR UPDATE SKIP LOCKED))
        """)
}
