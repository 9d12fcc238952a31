import Model
import Postgres

/// Notification and retention.
enum HousekeepingSQL {
    /// The commit does not wait for the disk: a server that crashes loses the notification anyway.
    static let notify = Statement(
        "notify", "SELECT set_config('synchronous_commit', 'off', true), pg_notify(:channel, :payload)")

    /// `now()` stands still, so the index can be used. With `clock_timestamp()` each round would scan all keys.
    static let sweepIdempotencyKeys = Statement(
        "sweep_idempotency_keys",
        """
        DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM idempotency_keys
            WHERE created_at < coalesce(:now, now()) - :age_us * interval '1 microsecond'
            ORDER BY created_at LIMIT :limit FOR UPDATE SKIP LOCKED))
        """)

    /// The scan goes route by route, because the key begins with the route: no index has the minutes of all. `now()`
    /// stands still, so the index can be used.
    static let sweepRouteMinutes = Statement(
        "sweep_route_minutes",
        """
        DELETE FROM route_minutes WHERE ctid = ANY (ARRAY(
            SELECT old.ctid FROM routes CROSS JOIN LATERAL (
                SELECT m.ctid FROM route_minutes m
                WHERE m.route_id = routes.id AND m.minute < coalesce(:now, now()) - :age_us * interval '1 microsecond'
                ORDER BY m.minute LIMIT :limit FOR UPDATE SKIP LOCKED
            ) AS old LIMIT :limit))
        """)

    // The lowest id of a message that was accepted at this moment or later: ids rise with time (UUIDv7). `now()` stands
    // still, so the index can be used.
    private static let cutOffID = """
        (lpad(to_hex((extract(epoch FROM coalesce(:now, now()) - :age_us * interval '1 microsecond')
            * 1000)::bigint), 12, '0') || repeat('0', 20))::uuid
        """

    // Whether the message is old by its due time too. Its id has an earlier time if it was re-dated, or resumed late.
    private static let isOldByDueTime = """
        (m.hour_set_at IS NULL
            OR coalesce(m.due_at, m.hour_set_at) < coalesce(:now, now()) - :age_us * interval '1 microsecond')
        """

    /// Removes the contents of messages that are over.
    static let sweepContents = Statement(
        "sweep_contents",
        """
        DELETE FROM message_contents WHERE message_id = ANY (ARRAY(
            SELECT c.message_id FROM message_contents c JOIN messages m ON m.id = c.message_id
            WHERE c.message_id < \(cutOffID) AND m.state >= \(MessageState.finished.sql) AND \(isOldByDueTime)
            ORDER BY c.message_id LIMIT :limit))
        """)

    /// Removes the gateway's own messages that are over, with their contents. Their counts stay, by day.
    static let sweepWakeUps = Statement(
        "sweep_wake_ups",
        """
        WITH gone AS MATERIALIZED (
            SELECT old.id FROM apps CROSS JOIN LATERAL (
                SELECT m.id FROM messages m
                WHERE m.app_id = apps.id AND m.origin > \(MessageOrigin.sender.sql) AND m.id < \(cutOffID)
                    AND m.state >= \(MessageState.finished.sql)
                ORDER BY m.app_id, m.id LIMIT :limit
            ) AS old LIMIT :limit
        ), contents AS (
            DELETE FROM message_contents WHERE message_id = ANY (ARRAY(SELECT id FROM gone))
        ), ended AS (
            DELETE FROM messages WHERE id = ANY (ARRAY(SELECT id FROM gone)) RETURNING *
        )
        INSERT INTO wake_days AS known (app_id, day, origin, \(endings))
        SELECT app_id, (accepted_at AT TIME ZONE 'UTC')::date, origin,
            \(TerminalState.allCases.map { "sum(\($0.name))" }.joined(separator: ", "))
        FROM ended GROUP BY 1, 2, 3
        ON CONFLICT (app_id, day, origin) DO UPDATE SET
            \(TerminalState.allCases.map { "\($0.name) = known.\($0.name) + excluded.\($0.name)" }.joined(separator: ", "))
        """)

    private static let endings = TerminalState.allCases.map(\.name).joined(separator: ", ")

    /// Removes registrations that only subscriptions had made, and that have none any more.
    static let sweepIdleSubscribers = Statement(
        "sweep_idle_subscribers",
        """
        WITH idle AS MATERIALIZED (
            SELECT registration_id FROM idle_subscribers
            WHERE since < coalesce(:now, now()) - :age_us * interval '1 microsecond'
            ORDER BY since, registration_id LIMIT :limit FOR UPDATE SKIP LOCKED
        ), locked AS MATERIALIZED (
            SELECT id FROM registrations WHERE id = ANY (ARRAY(SELECT registration_id FROM idle))
            ORDER BY id FOR UPDATE SKIP LOCKED
        ), gone AS (
            DELETE FROM registrations r
            WHERE id = ANY (ARRAY(SELECT id FROM locked)) AND kind = \(TokenKind.wakeUp.sql)
                AND NOT EXISTS (SELECT FROM subscriptions WHERE registration_id = r.id)
        )
        DELETE FROM idle_subscribers WHERE registration_id = ANY (ARRAY(SELECT registration_id FROM idle))
        """)

    /// Removes the inline targets of messages that are over.
    static let sweepInlineTargets = Statement(
        "sweep_inline_targets",
        """
        DELETE FROM inline_targets WHERE id = ANY (ARRAY(
            SELECT t.id FROM inline_targets t JOIN messages m ON m.id = t.message_id
            WHERE t.message_id < \(cutOffID) AND m.state >= \(MessageState.finished.sql) AND \(isOldByDueTime)
            ORDER BY t.message_id LIMIT :limit))
        """)

    static let sweepLaneBlocks = Statement(
        "sweep_lane_blocks",
        """
        DELETE FROM lane_blocks WHERE credential_id = ANY (ARRAY(
            SELECT credential_id FROM lane_blocks
            WHERE until < coalesce(:now, clock_timestamp()) - \(CredentialSQL.refusalsApartMax)
            LIMIT :limit FOR UPDATE SKIP LOCKED))
        """)
}
