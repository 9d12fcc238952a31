import Model
import Postgres

/// Statements for messages that wait for their due time.
enum ScheduleSQL {
    /// Whether a row's message follows none that has still to start.
    private static let isFirst = """
        (after_message IS NULL OR NOT EXISTS (
                SELECT FROM schedules before WHERE before.message_id = schedules.after_message))
        """

    /// Gives due messages a plan, as if they had just been accepted; a paused one stays paused.
    ///
    /// A follow-up message comes once its predecessor has a plan, so that planners see the two in their order. At a local
    /// hour, a clock that showed it before the start is too late: the device came to the audience since, or travelled.
    static let fallDue = Statement(
        "schedule_fall_due",
        """
        WITH due AS MATERIALIZED (
            SELECT message_id FROM schedules
            WHERE due_at <= coalesce(:now, now()) AND \(isFirst)
            ORDER BY due_at, message_id LIMIT :limit FOR UPDATE SKIP LOCKED
        ), gone AS (
            DELETE FROM schedules USING due WHERE schedules.message_id = due.message_id
            RETURNING schedules.message_id, schedules.priority, after_message, schedules.due_at
        ), fell AS (
            UPDATE messages m SET horizon = (SELECT coalesce(max(id), 0) FROM registrations),
                hour_set_at = CASE WHEN m.local_hour IS NULL THEN m.hour_set_at ELSE gone.due_at END,
                state = CASE m.state WHEN \(MessageState.scheduled.sql) THEN \(MessageState.accepted.sql) ELSE m.state END
            FROM gone WHERE m.id = gone.message_id
            RETURNING gone.message_id, m.app_id, m.format, gone.priority, after_message
        ), planned AS (
            INSERT INTO plans (message_id, app_id, format, priority, after_message)
            SELECT message_id, app_id, format, priority, after_message FROM fell
        )
        SELECT count(*) FROM gone
        """)

    /// The time until the next message can fall due, in microseconds, by the database's clock; no row: none can.
    static let next = Statement(
        "schedule_next",
        """
        SELECT greatest(0, extract(epoch FROM due_at - coalesce(:now, clock_timestamp())) * 1000000)::bigint
        FROM schedules WHERE due_at IS NOT NULL AND \(isFirst) ORDER BY due_at, message_id LIMIT 1
        """)
}
