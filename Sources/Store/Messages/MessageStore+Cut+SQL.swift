import Model
import Postgres

/// Messages that are cut into parcels when they are accepted. All statements run under `PlannerSQL.inKeyOrder`.
enum CutSQL {
    /// Claims idempotency keys. Parameters: $1 app, $2 operations, $3 keys, $4 SHA-256 of the bodies, $5 answers. It
    /// returns the keys that were free. A simultaneous duplicate waits.
    static let claimKeys = Statement(
        "cut_claim_keys",
        """
        INSERT INTO idempotency_keys (app_id, operation, key, body_sha256, answer)
        SELECT $1, asked.operation, asked.key, asked.body_sha256, asked.answer
        FROM unnest($2, $3, $4, $5) AS asked (operation, key, body_sha256, answer)
        ORDER BY asked.operation COLLATE "C", asked.key COLLATE "C"
        ON CONFLICT DO NOTHING RETURNING operation, key
        """)

    /// The stored bodies and answers of keys, with their places. Parameters: $1 app, $2 operations, $3 keys.
    static let findKeys = Statement(
        "cut_find_keys",
        """
        SELECT asked.place, known.body_sha256, known.answer
        FROM unnest($2, $3) WITH ORDINALITY AS asked (operation, key, place)
        JOIN idempotency_keys known
            ON known.app_id = $1 AND known.operation = asked.operation AND known.key = asked.key
        """)

    /// The members of messages that name tokens. Parameters: $1 app, $2 providers, $3 environments, $4 topics, $5
    /// tokens. There is one row for each, in this order: the registration or a new id, its route, and whether it is an
    /// inline target. The tokens' routes must exist.
    ///
    /// If a live registration holds the token, it is the member, as in `AudienceSQL.inline`.
    static let tokens = Statement(
        "cut_tokens",
        """
        SELECT coalesce(r.id, CASE WHEN routes.id IS NOT NULL THEN nextval('registrations_id_seq') END),
            coalesce(r.route_id, routes.id), r.id IS NULL
        FROM unnest($2, $3, $4, $5) WITH ORDINALITY AS named (provider, environment, topic, token, place)
        LEFT JOIN LATERAL (
            SELECT id, route_id FROM registrations live
            WHERE live.app_id = $1 AND live.provider = named.provider AND live.state < 3
                AND sha256(live.token) BETWEEN sha256(named.token) AND sha256(named.token)
            ORDER BY sha256(live.token) LIMIT 1
        ) AS r ON true
        LEFT JOIN LATERAL (
            SELECT id FROM routes WHERE r.id IS NULL AND app_id = $1 AND provider = named.provider
                AND environment = named.environment AND topic = named.topic LIMIT 1
        ) AS routes ON true
        ORDER BY named.place
        """)

    /// Writes messages with their contents. A message whose audience is too large for a cut gets a plan.
    ///
    /// - $1 app, $2 format, $3 now. The arrays have one element for each message.
    /// - $4 ids, $5 kinds, $6 badge changes, $7 badge values, $8 lifetimes in microseconds.
    /// - $9 whether it reads locales, $10 whether it has inline targets, $11 push types, $12 whether it is a dry run.
    /// - $13 its audience in short, $14 the limits that it ignores, $15 members in parcels.
    /// - $16 rejected and $17 unregistered at once, $18 whether it needs a planner, $19 contents, $20 audiences.
    static let write = Statement(
        "cut_write",
        """
        WITH cut AS MATERIALIZED (
            SELECT *, members + rejected + unregistered AS audience_count
            FROM unnest($4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20)
                AS cut (id, kind, badge_change, badge_value, lifetime, reads_locale, has_inline, push_type, is_dry_run,
                    summary, ignored_limits, members, rejected, unregistered, is_planned, content, audience)
        ), written AS (
            INSERT INTO messages (id, app_id, format, state, priority, kind, badge_change, badge_value, horizon,
                accepted_at, expires_at, finished_at, reads_locale, has_inline, push_type, is_dry_run, audience_summary,
                ignored_limits, planned_members, audience, members, rejected, unregistered)
            SELECT cut.id, $1, $2,
                CASE WHEN cut.is_planned THEN 1 WHEN cut.members = 0 THEN 6 ELSE 4 END,
                \(MessageUrgency.transactional.rawValue), cut.kind, cut.badge_change, cut.badge_value,
                (SELECT coalesce(max(id), 0) FROM registrations), coalesce($3, now()),
                coalesce($3, now()) + cut.lifetime * interval '1 microsecond',
                CASE WHEN cut.members = 0 AND NOT cut.is_planned THEN coalesce($3, now()) END,
                cut.reads_locale, cut.has_inline, cut.push_type, cut.is_dry_run, cut.summary, cut.ignored_limits,
                cut.audience_count, CASE WHEN NOT cut.is_planned THEN cut.audience_count END,
                cut.rejected + cut.unregistered, cut.rejected, cut.unregistered
            FROM cut
        ), plan AS (
            INSERT INTO plans (message_id, app_id, format, priority)
            SELECT id, $1, $2, \(MessageUrgency.transactional.rawValue) FROM cut WHERE is_planned
        )
        INSERT INTO message_contents (message_id, content, audience) SELECT id, content, audience FROM cut
        """)

    /// Writes inline targets. Parameters: $1 ids, $2 messages, $3 routes, $4 tokens.
    static let inlineTargets = Statement(
        "cut_inline_targets",
        """
        INSERT INTO inline_targets (id, message_id, route_id, token)
        SELECT id, message_id, route_id, token FROM unnest($1, $2, $3, $4) AS made (id, message_id, route_id, token)
        """)
}
