import Postgres

/// Pause, resume and cancel, written in the message's own row. `StopSQL` applies them to the parcels.
enum ControlSQL {
    /// Whether the message is paused or cancelled: nothing of it may be leased.
    static func isStopped(_ message: String) -> String { "\(message).state IN (5, 7)" }

    /// The state of a new parcel of a message. While the message is stopped, what is cut or handed back starts on hold.
    /// If it has a rate, a parcel starts as rate-limited.
    static func initialState(of message: String, lapses: String = "0", origin: String = "NULL") -> String {
        """
        (SELECT CASE WHEN \(isStopped("its")) THEN 3 WHEN \(RateSQL.isRateLimited("its", lapses: lapses, origin: origin)) THEN 4
            ELSE 1 END FROM messages its WHERE its.id = \(message))
        """
    }

    /// $1 app, $2 message. Drops a cancelled message's due time. A planner has locked the row before us, or finds none.
    /// The statement comes first, because planners lock rows in this order too.
    static let unschedule = Statement(
        "message_unschedule",
        """
        DELETE FROM schedules WHERE message_id = $2 AND EXISTS (SELECT FROM messages WHERE id = $2 AND app_id = $1)
        """)

    /// $1 app, $2 message. Without a plan the audience is final: the message never became due.
    static let cancel = Statement(
        "message_cancel",
        """
        UPDATE messages SET state = 7, audience = CASE
            WHEN audience IS NULL AND NOT EXISTS (SELECT FROM plans WHERE message_id = $2) THEN planned_members
            ELSE audience END
        WHERE app_id = $1 AND id = $2 AND state < 6
        """)

    /// $1 app, $2 message.
    static let pause = Statement(
        "message_pause", "UPDATE messages SET state = 5 WHERE app_id = $1 AND id = $2 AND state < 5")

    /// $1 app, $2 message, $3 now.
    static let stop = Statement(
        "message_stop",
        """
        INSERT INTO stops (message_id, stopped_at)
        SELECT m.id, coalesce($3, clock_timestamp()) FROM messages m
        WHERE m.app_id = $1 AND m.id = $2 AND \(isStopped("m")) AND m.audience IS DISTINCT FROM m.members
        ON CONFLICT (message_id) DO NOTHING
        """)

    /// $1 app, $2 message. Locks the row that a plan is made of, so that the next statements see either the row or the
    /// plan.
    static let holdSchedule = Statement(
        "message_hold_schedule",
        """
        SELECT FROM schedules s JOIN messages m ON m.id = s.message_id
        WHERE s.message_id = $2 AND m.app_id = $1 FOR UPDATE OF s
        """)

    /// $1 app, $2 message, $3 now.
    static let resume = Statement(
        "message_resume",
        """
        WITH changed AS (
            UPDATE messages SET state = CASE
                    WHEN EXISTS (SELECT FROM schedules WHERE message_id = $2) THEN 2
                    WHEN audience = members THEN 6
                    WHEN audience IS NOT NULL THEN 4
                    WHEN planned_members > 0 THEN 3 ELSE 1 END,
                finished_at = CASE WHEN audience = members THEN coalesce($3, clock_timestamp()) END
            WHERE app_id = $1 AND id = $2 AND state = 5
            RETURNING id
        ) \(PaceSQL.forgotten)
        """)

    /// $1 app, $2 message.
    static let goOn = Statement(
        "message_go_on",
        """
        DELETE FROM stops WHERE message_id = $2 AND EXISTS (
            SELECT FROM messages m WHERE m.id = $2 AND m.app_id = $1 AND NOT \(isStopped("m")))
        """)

    /// $1 app, $2 message.
    static let state = Statement("message_state", "SELECT state FROM messages WHERE app_id = $1 AND id = $2")

    /// $1 ids of messages that are being sent.
    static let stopped = Statement(
        "message_stopped", "SELECT id, state FROM messages m WHERE id = ANY ($1) AND \(isStopped("m")) ORDER BY id")
}
