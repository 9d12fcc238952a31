import Model
import Postgres

/// Messages that are cut into parcels when they are accepted. All statements run under `PlannerSQL.inKeyOrder`.
enum CutSQL {
    /// Claims idempotency keys, and returns those that were free. A simultaneous duplicate waits.
    static let claimKeys = Statement(
        "cut_claim_keys",
        """
        INSERT INTO idempotency_keys (app_id, operation, key, body_sha256, answer)
        SELECT :app, asked.operation, asked.key, asked.body_sha256, asked.answer
        FROM unnest(:operations, :keys, :body_hashes, :answers) AS asked (operation, key, body_sha256, answer)
        ORDER BY asked.operation COLLATE "C", asked.key COLLATE "C"
        ON CONFLICT DO NOTHING RETURNING operation, key
        """)

    /// The stored bodies and answers of keys, with their places.
    static let findKeys = Statement(
        "cut_find_keys",
        """
        SELECT asked.place, known.body_sha256, known.answer
        FROM unnest(:operations, :keys) WITH ORDINALITY AS asked (operation, key, place)
        JOIN idempotency_keys known
            ON known.app_id = :app AND known.operation = asked.operation AND known.key = asked.key
        """)

    /// The members of messages that name tokens. There is one row for each, in this order: the registration or a new id,
    /// its route, and whether it is an inline target. The tokens' routes must exist.
    static let tokens = Statement(
        "cut_tokens",
        """
        SELECT coalesce(r.id, CASE WHEN routes.id IS NOT NULL THEN nextval('registrations_id_seq') END),
            coalesce(r.route_id, routes.id), r.id IS NULL
        FROM unnest(:providers, :environments, :topics, :tokens) WITH ORDINALITY
            AS named (provider, environment, topic, token, place)
        \(AudienceSQL.holder(of: "named"))
        LEFT JOIN LATERAL (\(AudienceSQL.route(of: "named", "r.id IS NULL AND"))) AS routes ON true
        ORDER BY named.place
        """)

    /// Writes messages with their contents. A message whose audience is too large for a cut gets a plan.
    static let write = Statement(
        "cut_write",
        """
        WITH cut AS MATERIALIZED (
            SELECT *, members + rejected + unregistered AS audience_count
            FROM unnest(:messages, :kinds, :badge_changes, :badge_values, :lifetimes_us, :read_locales, :have_inline,
                    :push_types, :are_dry_runs, :summaries, :ignored_limits, :members, :rejected, :unregistered,
                    :are_planned, :contents, :audiences, :names, :authors)
                AS cut (id, kind, badge_change, badge_value, lifetime, reads_locale, has_inline, push_type, is_dry_run,
                    summary, ignored_limits, members, rejected, unregistered, is_planned, content, audience, name,
                    author)
        ), written AS (
            INSERT INTO messages (id, app_id, format, state, priority, kind, badge_change, badge_value, horizon,
                accepted_at, expires_at, finished_at, reads_locale, has_inline, push_type, is_dry_run, audience_summary,
                ignored_limits, planned_members, audience, members, rejected, unregistered, name, author)
            SELECT cut.id, :app, :format,
                CASE WHEN cut.is_planned THEN \(MessageState.accepted.sql)
                    WHEN cut.members = 0 THEN \(MessageState.finished.sql) ELSE \(MessageState.sending.sql) END,
                \(MessageUrgency.transactional.sql), cut.kind, cut.badge_change, cut.badge_value,
                (SELECT coalesce(max(id), 0) FROM registrations), coalesce(:now, now()),
                coalesce(:now, now()) + cut.lifetime * interval '1 microsecond',
                CASE WHEN cut.members = 0 AND NOT cut.is_planned THEN coalesce(:now, now()) END,
                cut.reads_locale, cut.has_inline, cut.push_type, cut.is_dry_run, cut.summary, cut.ignored_limits,
                cut.audience_count, CASE WHEN NOT cut.is_planned THEN cut.audience_count END,
                cut.rejected + cut.unregistered, cut.rejected, cut.unregistered, cut.name, cut.author
            FROM cut
        ), plan AS (
            INSERT INTO plans (message_id, app_id, format, priority)
            SELECT id, :app, :format, \(MessageUrgency.transactional.sql) FROM cut WHERE is_planned
        )
        INSERT INTO message_contents (message_id, content, audience) SELECT id, content, audience FROM cut
        """)

    static let inlineTargets = Statement(
        "cut_inline_targets",
        """
        INSERT INTO inline_targets (id, message_id, route_id, token)
        SELECT id, message_id, route_id, token
        FROM unnest(:ids, :messages, :routes, :tokens) AS made (id, message_id, route_id, token)
        """)

    /// Frees new parcels that were leased to a process that never heard so.
    static let release = Statement(
        "cut_release",
        """
        UPDATE parcels p SET state = \(ControlSQL.initialState(of: "p.message_id")), owner = NULL, lease_until = NULL
        WHERE p.message_id = ANY (:messages) AND p.owner = :owner AND p.state = \(ParcelState.leased.sql)
            AND p.epoch = 1 AND p.settles = 0
        """)
}
