import Model
import Postgres

/// Reading and changing a message as its sender asked for it.
enum RevisionSQL {
    static let read = Statement(
        "message_record",
        """
        SELECT m.state, EXISTS (SELECT FROM schedules WHERE message_id = m.id), m.format, m.priority, m.accepted_at, m.name,
            m.due_at, m.local_hour AT TIME ZONE 'UTC', m.late_at_once, m.rate_per_second, m.ignored_limits,
            m.audience_summary, c.content, c.audience
        FROM messages m LEFT JOIN message_contents c ON c.message_id = m.id
        WHERE m.app_id = :app AND m.id = :message
        """)

    /// Keeps planners away from the plan until the transaction ends. They lock it before the message, as this does.
    static let holdPlan = Statement(
        "message_hold_plan",
        """
        SELECT FROM plans p JOIN messages m ON m.id = p.message_id
        WHERE p.message_id = :message AND m.app_id = :app FOR UPDATE OF p
        """)

    /// Makes a schedule of the plan of a paused message of which nothing is cut, so that it starts when it is resumed.
    /// The plan and the message are locked. The next message of a list waits until this one has started.
    static let putBack = Statement(
        "message_put_back",
        """
        WITH gone AS (
            DELETE FROM plans p USING messages m
            WHERE p.message_id = :message AND m.id = p.message_id AND m.app_id = :app
                AND m.state = \(MessageState.paused.sql) AND p.planned_through = 0 AND p.slices = 0
            RETURNING p.message_id, p.priority, p.after_message
        )
        INSERT INTO schedules (message_id, priority, after_message)
        SELECT message_id, priority, after_message FROM gone
        """)

    /// Replaces content and audience, with what follows from them.
    static let rewrite = Statement(
        "message_rewrite",
        """
        WITH schedule AS (
            UPDATE schedules SET priority = :priority WHERE message_id = :message
        ), changed AS (
            UPDATE messages SET priority = :priority, kind = :kind, reads_locale = :reads_locale,
                has_inline = :has_inline, audience_summary = :summary
            WHERE id = :message
        )
        UPDATE message_contents SET content = :content, audience = :audience WHERE message_id = :message
        """)

    /// Replaces the due time. Without one the message is due now; a paused message then starts when it is resumed.
    static let redate = Statement(
        "message_redate",
        """
        WITH changed AS (
            UPDATE messages SET
                due_at = CASE WHEN :due_at IS NULL AND state <> \(MessageState.paused.sql) THEN clock.now ELSE :due_at END,
                expires_at = coalesce(:last, :due_at, clock.now) + :lifetime_us * interval '1 microsecond',
                local_hour = :hour AT TIME ZONE 'UTC', late_at_once = :late_at_once, hour_set_at = clock.now
            FROM (SELECT coalesce(:now, clock_timestamp()) AS now) AS clock
            WHERE id = :message
            RETURNING id, state, due_at
        )
        UPDATE schedules SET due_at = CASE WHEN changed.state <> \(MessageState.paused.sql) THEN changed.due_at END
        FROM changed WHERE schedules.message_id = changed.id
        """)

    static let rename = Statement(
        "message_rename", "UPDATE messages SET name = :name WHERE app_id = :app AND id = :message")
}
