import Postgres

/// What providers say about tokens. Under `PlannerSQL.throughKeys`, but for `lockDue`.
enum VerdictSQL {
    /// $1 ids. Registering takes the same locks: what is judged afterwards is judged on what was committed before.
    static let lock = Statement(
        "verdict_lock", "SELECT id FROM registrations WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE")

    // In: rows `judged` (a registration's columns after the change, with the reason). The doubts and the feedback that
    // follow from it; then how many became retired, suspected, active.
    private static let consequences = """
        doubted AS (
            INSERT INTO suspicions (registration_id, route_id, generation, reason, suspected_at)
            SELECT id, route_id, generation, reason, coalesce($1, now()) FROM judged WHERE state = 2
            ON CONFLICT (registration_id) DO UPDATE SET route_id = excluded.route_id,
                generation = excluded.generation, reason = excluded.reason, suspected_at = excluded.suspected_at
        ), forgotten AS (
            DELETE FROM suspicions WHERE registration_id = ANY (ARRAY(SELECT id FROM judged WHERE state <> 2))
        ), told AS (
            INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason, at)
            SELECT app_id, id, generation, installation, kind, provider,
                CASE state WHEN 3 THEN 1 WHEN 2 THEN 2 ELSE 6 END, reason, coalesce($1, clock_timestamp())
            FROM judged ORDER BY id
        )
        SELECT count(*) FILTER (WHERE state = 3), count(*) FILTER (WHERE state = 2), count(*) FILTER (WHERE state = 1)
        FROM judged
        """

    /// $1 now, $2 ids, $3 generations, $4 the states that the verdicts lead to, $5 their times, $6 reasons.
    /// The same rules as `TokenLifecycle.judge`.
    static let judge = Statement(
        "verdict_judge",
        """
        WITH judged AS (
            UPDATE registrations r SET state = said.state
            FROM unnest($2, $3, $4, $5, $6) AS said (id, generation, state, as_of, reason), registration_pulse p
            WHERE r.id = said.id AND p.registration_id = r.id AND r.generation = said.generation
                AND CASE said.state
                    WHEN 3 THEN r.state < 3 AND p.registered_at <= said.as_of
                    WHEN 2 THEN r.state = 1 AND p.registered_at <= said.as_of
                    ELSE r.state = 2 END
            RETURNING r.id, r.app_id, r.route_id, r.generation, r.installation, r.kind, r.provider, r.state, said.reason
        ), \(consequences)
        """)

    /// $1 now, $2 window in microseconds, $3 sample at least, $4 share at most, $5 how many.
    ///
    /// A doubt's sample is what its route answered in the window that began with the doubt's minute: it holds the answers
    /// among which the doubt arose, so that a whole batch of them speaks against itself, however good later days are.
    /// Doubts and samples are joined all with all, as the planner likes; their registrations are looked up and locked one
    /// after the other, by rising id.
    static let lockDue = Statement(
        "verdict_lock_due",
        """
        WITH waiting AS MATERIALIZED (
            SELECT registration_id, route_id, date_trunc('minute', suspected_at) AS since FROM suspicions
            WHERE suspected_at <= coalesce($1, now()) - $2 * interval '1 microsecond'
        ), passing AS MATERIALIZED (
            SELECT asked.route_id, asked.since FROM (SELECT DISTINCT route_id, since FROM waiting) AS asked
            CROSS JOIN LATERAL (
                SELECT coalesce(sum(answered), 0)::float8 AS answered, coalesce(sum(suspected), 0)::float8 AS suspected
                FROM route_minutes m WHERE m.route_id = asked.route_id AND m.minute >= asked.since
                    AND m.minute <= asked.since + $2 * interval '1 microsecond'
            ) AS heard
            WHERE heard.answered >= $3 AND heard.suspected <= $4 * heard.answered
        )
        SELECT r.id FROM (
            SELECT registration_id FROM waiting JOIN passing USING (route_id, since) ORDER BY registration_id
        ) AS doubt CROSS JOIN LATERAL (
            SELECT id FROM registrations WHERE id = doubt.registration_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
        ) AS r LIMIT $5
        """)

    /// $1 now, $2 window in microseconds, $3 ids, locked.
    static let confirm = Statement(
        "verdict_confirm",
        """
        WITH judged AS (
            UPDATE registrations r SET state = 3
            FROM unnest($3) AS said (id) CROSS JOIN LATERAL (
                SELECT generation, suspected_at, reason FROM suspicions WHERE registration_id = said.id LIMIT 1
            ) AS s CROSS JOIN LATERAL (
                SELECT registered_at FROM registration_pulse WHERE registration_id = said.id LIMIT 1
            ) AS p
            WHERE r.id = said.id AND r.state = 2 AND s.generation = r.generation
                AND p.registered_at <= s.suspected_at
                AND s.suspected_at <= coalesce($1, now()) - $2 * interval '1 microsecond'
            RETURNING r.id, r.app_id, r.route_id, r.generation, r.installation, r.kind, r.provider, r.state, s.reason
        ), \(consequences)
        """)
}
