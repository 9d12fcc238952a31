import Model
import Postgres

/// Statements that apply pause, resume and cancel to parcels, some at a time. Everything follows from rows, so any
/// process goes on where another was killed.
enum StopSQL {
    private static let now = "coalesce(:now, clock_timestamp())"

    // Whether parcels of the message `m` in the state have expired: all of them, or those due in earlier time zones.
    private static func hasExpired(_ state: ParcelState) -> String {
        """
        (m.expires_at <= \(now) OR m.local_hour IS NOT NULL AND EXISTS (
            SELECT FROM parcels p WHERE p.message_id = m.id AND p.state = \(state.sql) AND p.expires_at <= \(now)))
        """
    }

    // Whether parcels on hold of the message, or some of them, will never be sent.
    private static let isOver = """
        (m.state = \(MessageState.cancelled.sql) OR m.state = \(MessageState.paused.sql) AND \(hasExpired(.onHold)))
        """

    // Whether the message, or some of it, waits for a rate no longer.
    private static let isRateLifted = "(m.rate_per_second IS NULL OR \(hasExpired(.rateLimited)))"

    // The messages behind `:after` with parcels in the state. It hops from message to message.
    private static func hops(_ name: String, _ state: ParcelState) -> String {
        """
        \(name) AS (
            (SELECT message_id FROM parcels WHERE state = \(state.sql) AND message_id > :after ORDER BY message_id LIMIT 1)
            UNION ALL
            SELECT (SELECT p.message_id FROM parcels p
                WHERE p.state = \(state.sql) AND p.message_id > \(name).message_id ORDER BY p.message_id LIMIT 1)
            FROM \(name) WHERE \(name).message_id IS NOT NULL
        )
        """
    }

    /// Messages that are stopped, have parcels on hold, or have parcels that are rate-limited in vain.
    static let found = Statement(
        "stop_found",
        """
        WITH RECURSIVE \(hops("held", .onHold)), \(hops("limited", .rateLimited)), found AS (
            SELECT message_id FROM held WHERE message_id IS NOT NULL
            UNION SELECT message_id FROM stops WHERE message_id > :after
            UNION SELECT m.id FROM limited JOIN messages m ON m.id = limited.message_id WHERE \(isRateLifted)
            ORDER BY message_id LIMIT :limit
        )
        SELECT m.id, \(ControlSQL.isStopped("m")), \(isOver), \(isRateLifted)
        FROM found JOIN messages m ON m.id = found.message_id ORDER BY m.id
        """)

    /// Parcels on hold are out of the way of leases and of searches for ready ones.
    static let putOnHold = Statement(
        "stop_hold",
        """
        UPDATE parcels SET state = \(ParcelState.onHold.sql) WHERE id = ANY (ARRAY(
            SELECT id FROM parcels WHERE message_id = :message AND state IN (\([ParcelState.ready, .rateLimited].sql))
            ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED))
            AND EXISTS (SELECT FROM messages m WHERE m.id = :message AND \(ControlSQL.isStopped("m")))
        """)

    /// A due time that passed meanwhile becomes now.
    static let release = Statement(
        "stop_release",
        """
        UPDATE parcels SET state = \(ParcelState.ready.sql), due_at = greatest(due_at, coalesce(:now, now()))
        WHERE id = ANY (ARRAY(
            SELECT id FROM parcels WHERE message_id = :message AND state = \(ParcelState.onHold.sql)
            ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED))
            AND EXISTS (SELECT FROM messages m WHERE m.id = :message AND NOT \(ControlSQL.isStopped("m")))
        """)

    /// The lease and its settle share a transaction, so nobody sees the parcels leased.
    static let claim = Statement(
        "stop_claim",
        """
        UPDATE parcels p SET state = \(ParcelState.leased.sql), epoch = p.epoch + 1, owner = :owner,
            lease_until = coalesce(:now, now())
        FROM messages m
        WHERE p.id = ANY (ARRAY(
            SELECT id FROM parcels WHERE message_id = :message AND state = \(ParcelState.onHold.sql)
                AND (expires_at <= \(now) OR EXISTS (
                    SELECT FROM messages
                    WHERE id = :message AND (state = \(MessageState.cancelled.sql) OR expires_at <= \(now))))
            ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED))
            AND m.id = :message AND \(ControlSQL.isStopped("m"))
        RETURNING p.id, p.message_id, p.route_id, p.epoch, p.settles, p.attempt, p.lapses, p.answer_lost, p.badge_marked, p.member_count,
            p.members, p.settled, p.uncounted, m.badge_change, p.badge_set, m.state = \(MessageState.cancelled.sql)
        """)

    /// Forgets the stops of messages that are over.
    static let forget = Statement(
        "stop_forget",
        """
        DELETE FROM stops USING messages m
        WHERE m.id = stops.message_id AND (m.state = \(MessageState.finished.sql)
            OR m.state = \(MessageState.cancelled.sql) AND m.audience = m.members)
        """)
}
