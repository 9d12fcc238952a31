import Model
import Postgres

/// Statements that apply pause, resume and cancel to parcels, some at a time. Everything follows from rows, so any
/// process goes on where another was killed.
enum StopSQL {
    // $2 now.
    private static let now = "coalesce($2, clock_timestamp())"

    // Whether parcels of the message `m` in the state have expired: all of them, or those due in earlier time zones.
    private static func hasExpired(state: Int16) -> String {
        """
        (m.expires_at <= \(now) OR m.local_hour IS NOT NULL AND EXISTS (
            SELECT FROM parcels p WHERE p.message_id = m.id AND p.state = \(state) AND p.expires_at <= \(now)))
        """
    }

    // Whether parcels on hold of the message, or some of them, will never be sent. $2 now.
    private static let isOver = "(m.state = 7 OR m.state = 5 AND \(hasExpired(state: ParcelState.onHold.rawValue)))"

    // Whether the message, or some of it, waits for a rate no longer. $2 now.
    private static let isRateLifted =
        "(m.rate_per_second IS NULL OR \(hasExpired(state: ParcelState.rateLimited.rawValue)))"

    /// $1 message to go on behind, $2 now, $3 messages at most. Returns messages that are stopped, have parcels on
    /// hold, or have parcels that are rate-limited in vain.
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

    /// $1 message, $2 parcels at most. Parcels on hold are out of the way of leases and of searches for ready ones.
    static let putOnHold = Statement(
        "stop_hold",
        """
        UPDATE parcels SET state = 3 WHERE id = ANY (ARRAY(
            SELECT id FROM parcels WHERE message_id = $1 AND state IN (1, 4)
            ORDER BY id LIMIT $2 FOR UPDATE SKIP LOCKED))
            AND EXISTS (SELECT FROM messages m WHERE m.id = $1 AND \(ControlSQL.isStopped("m")))
        """)

    /// A due time that passed meanwhile becomes now.
    static let release = Statement(
        "stop_release",
        """
        UPDATE parcels SET state = 1, due_at = greatest(due_at, coalesce(:now, now())) WHERE id = ANY (ARRAY(
            SELECT id FROM parcels WHERE message_id = :message AND state = 3 ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED))
            AND EXISTS (SELECT FROM messages m WHERE m.id = :message AND NOT \(ControlSQL.isStopped("m")))
        """)

    /// $1 message, $2 now, $3 parcels at most, $4 owner. The lease and its settle share a transaction, so nobody sees
    /// the parcels leased.
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

    /// Forgets the stops of messages that are over.
    static let forget = Statement(
        "stop_forget",
        """
        DELETE FROM stops USING messages m
        WHERE m.id = stops.message_id AND (m.state = 6 OR m.state = 7 AND m.audience = m.members)
        """)
}
