import Model
import Postgres

/// Statements that write messages of any origin. The arrays have one element for each message.
enum MessageWriterSQL {
    /// Writes messages with their contents, plans and schedules. Returns how many were written.
    static let write = Statement("message_write", "WITH " + writing(from: ""))

    /// The same, only if the idempotency key is free. A simultaneous repeat of the request waits at the key.
    static let writeOnce = Statement(
        "message_write_once",
        """
        WITH claim AS (
            INSERT INTO idempotency_keys (app_id, operation, key, body_sha256, answer)
            VALUES (:app, :operation, :key, :body_sha256, :answer)
            ON CONFLICT DO NOTHING RETURNING 1
        ), 
        """ + writing(from: "claim, "))

    // | state | row | horizon |
    // | accepted | plan | the highest registration id now |
    // | scheduled, paused | schedule | 0: it is read when the message starts, when due or resumed |
    // | sending, finished: the members are known | none | as accepted; 0 for a message of the gateway's own |
    //
    // Known members need no horizon. A sender's message has one for the history of its pushes: a device that was
    // registered after acceptance is not in the audience, even if the message names it.
    private static let isPlanned = "state = \(MessageState.accepted.sql)"
    private static let isScheduled = "state IN (\([MessageState.scheduled, .paused].sql))"

    private static func writing(from source: String) -> String {
        """
        draft AS MATERIALIZED (
            SELECT each.*, member_count + rejected + unregistered AS audience_count, clock.now
            FROM \(source)(SELECT coalesce(:now, clock_timestamp()) AS now) AS clock
                CROSS JOIN unnest(:messages, :apps, :states, :priorities, :kinds, :badge_changes, :badge_values,
                    :lifetimes_us, :due_at, :read_locales, :have_inline, :have_own_values, :push_types, :are_dry_runs,
                    :summaries, :ignored_limits, :origins, :member_counts, :rejected, :unregistered, :contents,
                    :audience_texts, :names, :authors, :after)
                AS each (id, app_id, state, priority, kind, badge_change, badge_value, lifetime, due_at, reads_locale,
                    has_inline, has_own_values, push_type, is_dry_run, summary, ignored_limits, origin, member_count,
                    rejected, unregistered, content, audience_text, name, author, after_message)
        ), written AS (
            INSERT INTO messages (id, app_id, format, state, priority, kind, badge_change, badge_value, horizon,
                accepted_at, due_at, expires_at, finished_at, reads_locale, has_inline, has_own_values, push_type,
                is_dry_run, audience_summary, ignored_limits, origin, planned_members, audience, members, rejected,
                unregistered, name, author)
            SELECT id, app_id, :format, state, priority, kind, badge_change, badge_value,
                CASE WHEN origin = \(MessageOrigin.sender.sql) AND NOT \(isScheduled)
                    THEN (SELECT coalesce(max(id), 0) FROM registrations) ELSE 0 END,
                now, due_at, coalesce(due_at, now) + lifetime * interval '1 microsecond',
                CASE WHEN state = \(MessageState.finished.sql) THEN now END, reads_locale, has_inline, has_own_values,
                push_type, is_dry_run, summary, ignored_limits, origin, audience_count,
                CASE WHEN NOT (\(isPlanned) OR \(isScheduled)) THEN audience_count END, rejected + unregistered,
                rejected, unregistered, name, author
            FROM draft
            RETURNING id
        ), plan AS (
            INSERT INTO plans (message_id, app_id, format, priority, after_message)
            SELECT id, app_id, :format, priority, after_message FROM draft WHERE \(isPlanned)
        ), schedule AS (
            INSERT INTO schedules (message_id, priority, after_message, due_at)
            SELECT id, priority, after_message, CASE WHEN state = \(MessageState.scheduled.sql) THEN due_at END
            FROM draft WHERE \(isScheduled)
        ), content AS (
            INSERT INTO message_contents (message_id, content, audience) SELECT id, content, audience_text FROM draft
        )
        SELECT count(*) FROM written
        """
    }

    /// Writes parcels of messages that were written in the same transaction, ready to be leased. The arrays have one
    /// element for each parcel. Returns their routes.
    ///
    /// The parcels are due since the transaction began, as those of `ParcelSQL.cut` are: `now()` is one time for all of
    /// them, and `clock_timestamp()` would be read for each row. The messages' statement reads that once.
    static let parcels = Statement(
        "message_write_parcels",
        """
        WITH written AS (
            INSERT INTO parcels (message_id, app_id, route_id, format, service, priority, due_at, expires_at, members,
                member_count, pending)
            SELECT m.id, m.app_id, cut.route_id, m.format, cut.service, m.priority, coalesce(:now, now()), m.expires_at,
                cut.member_list, cut.member_count, cut.member_count
            FROM unnest(:messages, :routes, :services, :member_lists, :member_counts) WITH ORDINALITY
                AS cut (message_id, route_id, service, member_list, member_count, place)
            CROSS JOIN LATERAL (SELECT * FROM messages WHERE id = cut.message_id LIMIT 1) AS m
            ORDER BY cut.place
            RETURNING app_id, route_id, service, priority
        )
        SELECT n.route_id, n.service, n.app_id, r.provider, r.environment, r.topic, n.is_urgent
        FROM (
            SELECT route_id, service, app_id, bool_or(priority = \(MessageUrgency.transactional.sql)) AS is_urgent
            FROM written GROUP BY route_id, service, app_id
        ) AS n
        CROSS JOIN LATERAL (SELECT provider, environment, topic FROM routes WHERE id = n.route_id LIMIT 1) AS r
        """)

    static let inlineTargets = Statement(
        "message_write_inline_targets",
        """
        INSERT INTO inline_targets (id, message_id, route_id, token)
        SELECT id, message_id, route_id, token
        FROM unnest(:ids, :messages, :routes, :tokens) AS made (id, message_id, route_id, token)
        """)
}
