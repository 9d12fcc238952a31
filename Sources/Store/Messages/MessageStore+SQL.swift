import Postgres

/// Messages: accepting and reading them.
enum MessageSQL {
    // - $1 id, $2 app, $3 format, $4 priority, $5 kind, $6 badge change, $7 badge value, $8 lifetime in microseconds.
    // - $9 content, $10 audience, $11 now, $12 does it read locales, $13 has it inline targets, $14 push type.
    // - $15 is it a dry run, $16 its audience in short, $17 its predecessor (null: none), $18 when it is due (null: at
    //   once).
    //
    // A scheduled message has no plan, and its horizon is read when it is due.
    private static func writing(from source: String) -> String {
        """
        written AS (
            INSERT INTO messages (id, app_id, format, priority, kind, badge_change, badge_value, horizon, accepted_at,
                expires_at, reads_locale, has_inline, push_type, is_dry_run, audience_summary, due_at,
                state)
            SELECT $1, $2, $3, $4, $5, $6, $7,
                CASE WHEN $18 IS NULL THEN (SELECT coalesce(max(id), 0) FROM registrations) ELSE 0 END, clock.now,
                coalesce($18, clock.now) + $8 * interval '1 microsecond', $12, $13, $14, $15, $16, $18,
                CASE WHEN $18 IS NULL THEN 1 ELSE 2 END
            FROM \(source)(SELECT coalesce($11, clock_timestamp()) AS now) AS clock
            RETURNING id
        ), plan AS (
            INSERT INTO plans (message_id, app_id, format, priority, after_message) SELECT id, $2, $3, $4, $17 FROM written
            WHERE $18 IS NULL
        ), schedule AS (
            INSERT INTO schedules (message_id, priority, after_message, due_at)
            SELECT id, $4, $17, $18 FROM written WHERE $18 IS NOT NULL
        ), content AS (
            INSERT INTO message_contents (message_id, content, audience) SELECT id, $9, $10 FROM written
        )
        SELECT count(*) FROM written
        """
    }

    static let accept = Statement("message_accept", "WITH " + writing(from: ""))

    /// Writes the message only if its predecessor was written.
    static let acceptAfter = Statement(
        "message_accept_after",
        "WITH " + writing(from: "(SELECT 1 FROM messages WHERE id = $17) AS before, "))

    /// $19 operation, $20 key, $21 SHA-256 of the body, $22 answer. A simultaneous duplicate waits at the key.
    static let acceptOnce = Statement(
        "message_accept_once",
        """
        WITH claim AS (
            INSERT INTO idempotency_keys (app_id, operation, key, body_sha256, answer) VALUES ($2, $19, $20, $21, $22)
            ON CONFLICT DO NOTHING RETURNING 1
        ), 
        """ + writing(from: "claim, "))

    /// $1 app, $2 id. Reads everything that an account adds up in one snapshot.
    static let account = Statement(
        "message_account",
        """
        SELECT \(wholeColumns), \(formColumns)
        FROM messages m \(openParcels) \(byProvider) WHERE m.app_id = $1 AND m.id = $2
        """)

    // Newest first, under `PlannerSQL.throughKeys`: $1 app, $2 id to stay below (null: none). The app stands in an
    // array of one, so that it is part of the order, which only the app's own index has. By id alone, the messages of
    // all apps would be passed.
    private static let below = """
        WHERE app_id = ANY (ARRAY[$1]) AND id < coalesce($2, 'ffffffff-ffff-ffff-ffff-ffffffffffff'::uuid)
        """

    /// $1 app, $2 id to stay below (null: none), $3 rows at most. Returns the ids, whether each is in the page, and
    /// whether the scan ended there.
    static let list = Statement(
        "message_list", "SELECT id, true, false FROM messages \(below) ORDER BY app_id, id DESC LIMIT $3")

    /// The same for messages in state $4, which is not that of finished ones.
    static let listOfState = Statement(
        "message_list_of_state",
        """
        SELECT id, true, false FROM messages \(below) AND state = $4 AND state <> 6
        ORDER BY app_id, state, id DESC LIMIT $3
        """)

    /// The same for finished messages, which nearly all are. A million scheduled messages may come before them. So $4
    /// bounds the rows that are passed, and the last of those is returned as well.
    static let listFinished = Statement(
        "message_list_finished",
        """
        SELECT id, state = 6, number = $4 FROM (
            SELECT app_id, id, state, row_number() OVER (ORDER BY app_id, id DESC) AS number
            FROM (SELECT app_id, id, state FROM messages \(below) ORDER BY app_id, id DESC LIMIT $4) AS passed
        ) AS numbered
        WHERE state = 6 OR number = $4 ORDER BY app_id, id DESC LIMIT $3
        """)

    /// $1 app, $2 ids, $3 the state that messages must still have (null: any). Returns a list's accounts, in no order,
    /// with the number of open parcels before the form. They are found by id: by the app, all of its messages might be
    /// read.
    static let accounts = Statement(
        "message_accounts",
        """
        SELECT \(accountColumns), p.parcels, \(formColumns)
        FROM messages m \(openParcels)
        WHERE m.app_id + 0 = $1 AND m.id = ANY ($2) AND m.state = coalesce($3, m.state)
        """)
    static let parcelsColumn = 14

    // The last columns of each statement.
    static let formColumnCount = 6
    static let formColumns = """
        m.push_type, m.is_dry_run, m.audience_summary, m.local_hour AT TIME ZONE 'UTC', m.due_at, m.rate_per_second
        """

    /// The columns that `account(in:row:isWhole:)` reads.
    private static let accountColumns = """
        m.id, m.state, m.accepted_at, m.expires_at, m.finished_at, m.audience, coalesce(p.pending, 0),
            m.accepted + coalesce(p.accepted, 0), m.rejected + coalesce(p.rejected, 0),
            m.unregistered + coalesce(p.unregistered, 0), m.expired + coalesce(p.expired, 0),
            m.suppressed + coalesce(p.suppressed, 0), m.cancelled + coalesce(p.cancelled, 0),
            m.gave_up + coalesce(p.gave_up, 0)
        """

    /// The same, and what only a query of one message returns. They need `openParcels` and `byProvider`.
    static let wholeColumns = """
        \(accountColumns),
            ARRAY(SELECT state FROM message_reasons r WHERE r.message_id = m.id ORDER BY r.state, r.reason COLLATE "C"),
            ARRAY(SELECT reason FROM message_reasons r WHERE r.message_id = m.id ORDER BY r.state, r.reason COLLATE "C"),
            ARRAY(SELECT count FROM message_reasons r WHERE r.message_id = m.id ORDER BY r.state, r.reason COLLATE "C"),
            by.providers, by.pending, by.accepted, by.rejected, by.unregistered, by.expired, by.suppressed,
            by.cancelled, by.gave_up
        """

    static let openParcels = """
        CROSS JOIN LATERAL (
            SELECT sum(pending) AS pending, sum(accepted) AS accepted, sum(rejected) AS rejected,
                sum(unregistered) AS unregistered, sum(expired) AS expired, sum(suppressed) AS suppressed,
                sum(cancelled) AS cancelled, sum(gave_up) AS gave_up, count(*) AS parcels
            FROM parcels WHERE message_id = m.id
        ) AS p
        """

    static let byProvider = """
        CROSS JOIN LATERAL (
            SELECT array_agg(provider ORDER BY provider) AS providers, array_agg(pending ORDER BY provider) AS pending,
                array_agg(accepted ORDER BY provider) AS accepted, array_agg(rejected ORDER BY provider) AS rejected,
                array_agg(unregistered ORDER BY provider) AS unregistered,
                array_agg(expired ORDER BY provider) AS expired, array_agg(suppressed ORDER BY provider) AS suppressed,
                array_agg(cancelled ORDER BY provider) AS cancelled, array_agg(gave_up ORDER BY provider) AS gave_up
            FROM (
                SELECT provider, sum(pending)::bigint AS pending, sum(accepted)::bigint AS accepted,
                    sum(rejected)::bigint AS rejected, sum(unregistered)::bigint AS unregistered,
                    sum(expired)::bigint AS expired, sum(suppressed)::bigint AS suppressed,
                    sum(cancelled)::bigint AS cancelled, sum(gave_up)::bigint AS gave_up
                FROM (
                    SELECT provider, 0::bigint AS pending, accepted, rejected, unregistered, expired, suppressed,
                        cancelled, gave_up
                    FROM message_providers WHERE message_id = m.id
                    UNION ALL
                    SELECT r.provider, p.pending, p.accepted, p.rejected, p.unregistered, p.expired, p.suppressed,
                        p.cancelled, p.gave_up
                    FROM parcels p JOIN routes r ON r.id = p.route_id WHERE p.message_id = m.id
                ) AS counted GROUP BY provider
            ) AS summed
        ) AS by
        """

    /// $1 ids. The contents of several messages.
    static let contents = Statement(
        "message_contents_of",
        """
        SELECT m.app_id, m.format, m.priority, m.kind, m.expires_at, c.content, m.id
        FROM messages m JOIN message_contents c ON c.message_id = m.id WHERE m.id = ANY ($1)
        """)

    // The providers of a list that an app reaches. Sibling routes that no client named, of number 0, reach no device.
    private static func reached(app: String, among providers: String) -> String {
        """
        ARRAY(
            SELECT asked.provider FROM unnest(\(providers)) WITH ORDINALITY AS asked (provider, place)
            WHERE EXISTS (
                SELECT FROM routes r
                WHERE r.app_id = \(app) AND r.provider = asked.provider AND r.number IS DISTINCT FROM 0
            ) OR EXISTS (
                SELECT FROM credentials c WHERE c.app_id = \(app) AND c.provider = asked.provider AND c.state = 2
            ) ORDER BY asked.place)
        """
    }

    /// $1 app, $2 where to stop counting, $3 providers, $4 priority.
    static let status = Statement(
        "message_app_status",
        """
        SELECT (SELECT count(*) FROM (SELECT 1 FROM messages WHERE app_id = $1 AND priority = $4 AND state < 6 LIMIT $2)
                AS unfinished),
            \(reached(app: "$1", among: "$3"))
        """)

    /// $1 app, $2 providers. Returns those that the app reaches, and whether it sets limits.
    static let reached = Statement(
        "message_app_providers",
        """
        SELECT \(reached(app: "$1", among: "$2")), EXISTS (
            SELECT FROM apps WHERE id = $1
                AND (settings ->> 'quiet_hours' IS NOT NULL OR settings ->> 'daily_cap' IS NOT NULL))
        """)
}
