import Postgres

/// What has been said of messages, carried out on their parcels, some at a time. Everything follows from rows: whoever
/// comes next goes on where another process was killed.
enum StopSQL {
    // $2.
    private static let now = "coalesce($2, clock_timestamp())"

    // Something of the message `m`, in the state, has expired: all of it, or what left at the hours of earlier clocks.
    private static func hasExpired(state: Int16) -> String {
        """
        (m.expires_at <= \(now) OR m.local_hour IS NOT NULL AND EXISTS (
            SELECT FROM parcels p WHERE p.message_id = m.id AND p.state = \(state) AND p.expires_at <= \(now)))
        """
    }

    // Nobody will send any more what is held of it, or some of that. $2 now.
    private static let isOver = "(m.state = 7 OR m.state = 5 AND \(hasExpired(state: ParcelStore.onHoldState)))"

    // It waits for a rate no more, or some of it does not. $2 now.
    private static let isRateLifted =
        "(m.rate_per_second IS NULL OR \(hasExpired(state: ParcelStore.rateLimitedState)))"

    /// $1 after which message, $2 now, $3 how many. Messages that are stopped, and those that have held parcels, or such
    /// as wait for a rate in vain.
    static let found = Statement(
        "stop_found",
        """
        WITH RECURSIVE hop AS (
            (SELECT message_id FROM parcels WHERE state = 3 AND message_id > $1 ORDER BY message_id LIMIT 1)
            UNION ALL
            SELECT (SELECT p.message_id FROM parcels p
                WHERE p.state = 3 AND p.message_id > hop.message_id ORDER BY p.message_id LIMIT 1)
            FROM hop WHERE hop.message_id IS NOT NULL
        ), paced AS (
            (SELECT message_id FROM parcels WHERE state = 4 AND message_id > $1 ORDER BY message_id LIMIT 1)
            UNION ALL
            SELECT (SELECT p.message_id FROM parcels p
                WHERE p.state = 4 AND p.message_id > paced.message_id ORDER BY p.message_id LIMIT 1)
            FROM paced WHERE paced.message_id IS NOT NULL
        ), found AS (
            SELECT message_id FROM hop WHERE message_id IS NOT NULL
            UNION SELECT message_id FROM stops WHERE message_id > $1
            UNION SELECT m.id FROM paced JOIN messages m ON m.id = paced.message_id WHERE \(isRateLifted)
            ORDER BY message_id LIMIT $3
        )
        SELECT m.id, \(ControlSQL.isStopped("m")), \(isOver), \(isRateLifted)
        FROM found JOIN messages m ON m.id = found.message_id ORDER BY m.id
        """)

    /// $1 message, $2 how many. Out of the way of leases, and of all that looks for ready parcels.
    static let putOnHold = Statement(
        "stop_hold",
        """
        UPDATE parcels SET state = 3 WHERE id = ANY (ARRAY(
            SELECT id FROM parcels WHERE message_id = $1 AND state IN (1, 4)
            ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED))
            AND EXISTS (SELECT FROM messages m WHERE m.id = $1 AND \(ControlSQL.isStopped("m")))
        """)

    /// $1 message, $2 how many, $3 now. Whoever waited meanwhile has waited longer.
    static let release = Statement(
        "stop_release",
        """
        UPDATE parcels SET state = 1, due_at = greatest(due_at, coalesce($3, now())) WHERE id = ANY (ARRAY(
            SELECT id FROM parcels WHERE message_id = $1 AND state = 3 ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED))
            AND EXISTS (SELECT FROM messages m WHERE m.id = $1 AND NOT \(ControlSQL.isStopped("m")))
        """)

    /// $1 message, $2 now, $3 how many, $4 owner. Leased within the transaction that settles them, and never seen so.
    static let claim = Statement(
        "stop_claim",
        """
        UPDATE parcels p SET state = 2, epoch = p.epoch + 1, owner = $4, lease_until = coalesce($2, now())
        FROM messages m
        WHERE p.id = ANY (ARRAY(
            SELECT id FROM parcels WHERE message_id = $1 AND state = 3 AND (expires_at <= \(now)
                OR EXISTS (SELECT FROM messages WHERE id = $1 AND (state = 7 OR expires_at <= \(now))))
            ORDER BY id LIMIT $3 FOR UPDATE SKIP LOCKED))
            AND m.id = $1 AND m.state IN (5, 7)
        RETURNING p.id, p.message_id, p.epoch, p.settles, p.attempt, p.lapses, p.answer_lost, p.member_count, p.members,
            p.settled, m.state = 7, p.badge_marked, p.uncounted
        """)

    /// What is stopped no more, because it is over.
    static let forget = Statement(
        "stop_forget",
        """
        DELETE FROM stops USING messages m
        WHERE m.id = stops.message_id AND (m.state = 6 OR m.state = 7 AND m.audience = m.members)
        """)
}
