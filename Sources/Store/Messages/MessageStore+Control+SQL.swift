import Model
import Postgres

/// Pause, resume and cancel, written in the message's own row. `StopSQL` applies them to the parcels.
enum ControlSQL {
    /// Whether the message is paused or cancelled: nothing of it may be leased.
    static func isStopped(_ message: String) -> String {
        "\(message).state IN (\([MessageState.paused, .cancelled].sql))"
    }

    /// The state of a new parcel of a message. While the message is stopped, what is cut or handed back starts on hold.
    /// If it has a rate, a parcel starts as rate-limited.
    static func initialState(of message: String, lapses: String = "0", origin: String = "NULL") -> String {
        """
        (SELECT CASE WHEN \(isStopped("its")) THEN \(ParcelState.onHold.sql)
            WHEN \(RateSQL.isRateLimited("its", lapses: lapses, origin: origin)) THEN \(ParcelState.rateLimited.sql)
            ELSE \(ParcelState.ready.sql) END FROM messages its WHERE its.id = \(message))
        """
    }

    /// Drops a cancelled message's due time. A planner has locked the row before us, or finds none. The statement comes
    /// first, because planners lock rows in this order too. It comes again once the message is locked: a revision may
    /// have made the row meanwhile.
    static let unschedule = Statement(
        "message_unschedule",
        """
        DELETE FROM schedules WHERE message_id = :message
            AND EXISTS (SELECT FROM messages WHERE id = :message AND app_id = :app)
        """)

    /// Without a plan the audience is final: the message never became due.
    static let cancel = Statement(
        "message_cancel",
        """
        UPDATE messages SET state = \(MessageState.cancelled.sql), audience = CASE
            WHEN audience IS NULL AND NOT EXISTS (SELECT FROM plans WHERE message_id = :message) THEN planned_members
            ELSE audience END
        WHERE app_id = :app AND id = :message AND state < \(MessageState.finished.sql)
        """)

    static let pause = Statement(
        "message_pause",
        """
        UPDATE messages SET state = \(MessageState.paused.sql)
        WHERE app_id = :app AND id = :message AND state < \(MessageState.paused.sql)
        """)

    static let stop = Statement(
        "message_stop",
        """
        INSERT INTO stops (message_id, stopped_at)
        SELECT m.id, coalesce(:now, clock_timestamp()) FROM messages m
        WHERE m.app_id = :app AND m.id = :message AND \(isStopped("m")) AND m.audience IS DISTINCT FROM m.members
        ON CONFLICT (message_id) DO NOTHING
        """)

    /// Locks the row that a plan is made of, so that the next statements see either the row or the plan.
    static let holdSchedule = Statement(
        "message_hold_schedule",
        """
        SELECT FROM schedules s JOIN messages m ON m.id = s.message_id
        WHERE s.message_id = :message AND m.app_id = :app FOR UPDATE OF s
        """)

    /// Locks the message, so that the next statements see what a revision has committed.
    static let lock = Statement(
        "message_lock", "SELECT FROM messages WHERE app_id = :app AND id = :message FOR NO KEY UPDATE")

    /// Starts a message that was held: at its due time if that is ahead, or else now. `expires_at` counts from there.
    static let start = Statement(
        "message_start",
        """
        WITH held AS (
            UPDATE schedules SET due_at = greatest(m.due_at, clock.now)
            FROM messages m CROSS JOIN (SELECT coalesce(:now, clock_timestamp()) AS now) AS clock
            WHERE schedules.message_id = :message AND m.id = :message AND m.app_id = :app
                AND m.state = \(MessageState.paused.sql) AND schedules.due_at IS NULL
            RETURNING schedules.message_id, schedules.due_at, clock.now
        )
        UPDATE messages m SET due_at = held.due_at, hour_set_at = held.now,
            expires_at = CASE WHEN m.local_hour IS NOT NULL THEN m.expires_at
                ELSE held.due_at + (m.expires_at - coalesce(m.due_at, m.hour_set_at, m.accepted_at)) END
        FROM held WHERE m.id = held.message_id
        """)

    static let resume = Statement(
        "message_resume",
        """
        WITH changed AS (
            UPDATE messages SET state = CASE
                    WHEN EXISTS (SELECT FROM schedules WHERE message_id = :message) THEN \(MessageState.scheduled.sql)
                    WHEN audience = members THEN \(MessageState.finished.sql)
                    WHEN audience IS NOT NULL THEN \(MessageState.sending.sql)
                    WHEN planned_members > 0 THEN \(MessageState.planning.sql) ELSE \(MessageState.accepted.sql) END,
                finished_at = CASE WHEN audience = members THEN coalesce(:now, clock_timestamp()) END
            WHERE app_id = :app AND id = :message AND state = \(MessageState.paused.sql)
            RETURNING id
        ) \(PaceSQL.forgotten)
        """)

    static let goOn = Statement(
        "message_go_on",
        """
        DELETE FROM stops WHERE message_id = :message AND EXISTS (
            SELECT FROM messages m WHERE m.id = :message AND m.app_id = :app AND NOT \(isStopped("m")))
        """)

    static let state = Statement(
        "message_state", "SELECT state, audience_summary FROM messages WHERE app_id = :app AND id = :message")

    /// The stopped ones among messages that are being sent.
    static let stopped = Statement(
        "message_stopped",
        "SELECT id, state FROM messages m WHERE id = ANY (:messages) AND \(isStopped("m")) ORDER BY id")
}
