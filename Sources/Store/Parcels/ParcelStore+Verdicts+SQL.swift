import Model
import Postgres

/// Statements that apply providers' verdicts about tokens.
enum VerdictSQL {
    /// Locks the registrations, as registering does: verdicts are judged on committed rows. Parameters: $1 ids.
    static let lock = Statement(
        "verdict_lock", "SELECT id FROM registrations WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE")

    // Input: rows `judged` (a registration's columns after the change, with the state before and the reason).
    private static let feedback = """
        told AS (
            INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason, at)
            SELECT app_id, id, generation, installation, kind, provider,
                CASE state WHEN 3 THEN 1 WHEN 2 THEN 2 ELSE 6 END, reason, coalesce($1, clock_timestamp())
            FROM judged WHERE before <> state ORDER BY id
        )
        """

    // The same as `feedback`, and the tokens that were found: the route that they left, and the one they were found on.
    private static let feedbackWithFound = """
        told AS (
            INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason, at,
                from_environment, to_environment)
            SELECT app_id, id, generation, installation, kind, provider, verdict, reason,
                coalesce($1, clock_timestamp()), from_environment, to_environment
            FROM (
                SELECT judged.*, CASE state WHEN 3 THEN 1 WHEN 2 THEN 2 ELSE 6 END AS verdict,
                    NULL::smallint AS from_environment, NULL::smallint AS to_environment
                FROM judged WHERE before <> state
                UNION ALL
                SELECT judged.*, \(FeedbackVerdict.environmentChanged.rawValue), home.environment, other.environment
                FROM judged JOIN routes home ON home.id = judged.left_route
                    JOIN routes other ON other.id = judged.found_on
            ) AS entries
            ORDER BY id, to_environment NULLS FIRST
        )
        """

    /// Applies verdicts; returns how many registrations became retired, suspected, active. Parameters: $1 now, $2 ids,
    /// $3 generations, $4 the states that the verdicts lead to, $5 their times, $6 reasons. Tokens found: $7 the route
    /// (null: not found), $8 whether the environments now count as compared.
    ///
    /// The rules are those of `TokenLifecycle.judge`. A suspicion about a suspected token is added to the pending one,
    /// or opens the next window if that was judged. A token that was found gets feedback under the generation that was
    /// suspected: first its new state, then its environment.
    static let judge = Statement(
        "verdict_judge",
        """
        WITH said AS MATERIALIZED (
            SELECT r.id, r.route_id, r.generation, r.state AS before, said.state, said.reason, said.found_on,
                said.compared
            FROM unnest($2, $3, $4, $5, $6, $7, $8)
                AS said (id, generation, state, as_of, reason, found_on, compared)
            JOIN registrations r ON r.id = said.id
            JOIN registration_pulse p ON p.registration_id = r.id AND r.generation = said.generation
            WHERE CASE
                WHEN said.found_on IS NOT NULL THEN r.state < 3
                WHEN said.state = 1 THEN r.state = 2
                ELSE r.state < 3 AND p.registered_at <= said.as_of END
        ), judged AS (
            UPDATE registrations r SET state = said.state, route_id = coalesce(said.found_on, r.route_id),
                generation = r.generation + (said.found_on IS NOT NULL)::integer,
                environments_compared = CASE WHEN said.compared
                    THEN r.generation + (said.found_on IS NOT NULL)::integer ELSE r.environments_compared END,
                mistaken_route_id = CASE WHEN said.found_on IS NOT NULL THEN r.route_id
                    WHEN NOT said.compared THEN r.mistaken_route_id END
            FROM said
            WHERE r.id = said.id AND (said.before <> said.state OR said.compared)
            RETURNING r.id, r.app_id, said.generation, r.installation, r.kind, r.provider, r.state, said.before,
                said.reason, said.route_id AS left_route, said.found_on
        ), doubted AS (
            INSERT INTO suspicions (registration_id, route_id, generation, reason, suspected_at, due_at)
            SELECT id, route_id, generation, reason, coalesce($1, now()), coalesce($1, now()) FROM said WHERE state = 2
            ON CONFLICT (registration_id) DO UPDATE SET suspected_again_at = excluded.suspected_at
        ), forgotten AS (
            DELETE FROM suspicions
            WHERE registration_id = ANY (ARRAY(SELECT id FROM judged WHERE state <> 2 AND before <> state))
        ), \(feedbackWithFound)
        SELECT count(*) FILTER (WHERE state = 3), count(*) FILTER (WHERE state = 2), count(*) FILTER (WHERE state = 1)
        FROM judged WHERE before <> state
        """)

    /// Counts tokens that were found in the other environment, in their routes' minutes. Transactions that count in one
    /// minute wait for each other, so that together they move no more than allowed. Parameters: $1 now, $2 ids, locked,
    /// $3 generations.
    static let countFound = Statement(
        "verdict_count_found",
        """
        INSERT INTO route_minutes (route_id, minute, found)
        SELECT r.route_id, date_trunc('minute', coalesce($1, now())), count(*)
        FROM unnest($2, $3) AS said (id, generation)
            JOIN registrations r ON r.id = said.id AND r.generation = said.generation
        WHERE r.state < 3
        GROUP BY r.route_id ORDER BY r.route_id
        ON CONFLICT (route_id, minute) DO UPDATE SET found = route_minutes.found + excluded.found
        """)

    /// `RouteFindings` of each route, with its environment and topic. Parameters: $1 now, $2 routes, $3 window,
    /// $4 longest window (microseconds).
    static let findings = Statement(
        "verdict_findings",
        """
        SELECT routes.id, routes.environment, routes.topic, sums.found, sums.answered, sums.borne_out
        FROM unnest($2) AS asked (id) JOIN routes ON routes.id = asked.id CROSS JOIN LATERAL (
            SELECT coalesce(sum(m.found) FILTER (WHERE m.minute >= since.window), 0)::bigint AS found,
                coalesce(sum(m.answered) FILTER (WHERE m.minute >= since.window), 0)::bigint AS answered,
                coalesce(sum(m.answered - m.suspected - m.found) FILTER (WHERE m.minute < since.window), 0)::bigint
                    AS borne_out
            FROM (SELECT date_trunc('minute', coalesce($1, now()) - $3 * interval '1 microsecond') AS window) AS since
                JOIN route_minutes m ON m.route_id = asked.id
                    AND m.minute >= since.window - $4 * interval '1 microsecond'
        ) AS sums
        """)

    /// Due suspicions, by their registrations, looked up and locked one after the other. Parameters: $1 now, $2 how
    /// many.
    static let lockDue = Statement(
        "verdict_lock_due",
        """
        SELECT r.id FROM (
            SELECT registration_id FROM (
                SELECT registration_id FROM suspicions WHERE due_at <= coalesce($1, now())
                ORDER BY due_at, registration_id LIMIT $2
            ) AS next ORDER BY registration_id
        ) AS due CROSS JOIN LATERAL (
            SELECT id FROM registrations WHERE id = due.registration_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
        ) AS r
        """)

    // The rule of `SuspicionRule.judge`. $2 window, $3 smallest sample, $4 largest share, $5 longest window, $6 pause.
    private static let judgement = """
        CASE WHEN due.age < $2 * interval '1 microsecond' THEN 'waits'
            WHEN first_suspected > $4 * greatest(first_answered, $3) THEN 'dropped'
            WHEN first_answered >= $3 THEN 'confirmed'
            WHEN all_answered >= $3 AND all_suspected > $4 * all_answered THEN 'dropped'
            WHEN all_answered >= $3 AND due.suspected_again_at >= due.suspected_at + $2 * interval '1 microsecond'
                THEN 'confirmed'
            WHEN due.age >= $5 * interval '1 microsecond' THEN 'dropped'
            ELSE 'waits' END
        """

    /// Judges due suspicions; returns how many registrations became retired. Parameters: $1 now, $2 to $6 the rule
    /// (durations in microseconds), $7 ids, locked.
    ///
    /// The answers of a route are summed once for each minute in which suspicions about its tokens began.
    static let confirm = Statement(
        "verdict_confirm",
        """
        WITH due AS MATERIALIZED (
            SELECT registration_id, route_id, generation, reason, suspected_at, suspected_again_at,
                date_trunc('minute', suspected_at) AS since, coalesce($1, now()) - suspected_at AS age
            FROM suspicions WHERE registration_id = ANY ($7) AND due_at <= coalesce($1, now())
        ), heard AS MATERIALIZED (
            SELECT asked.route_id, asked.since, sums.*
            FROM (SELECT DISTINCT route_id, since FROM due) AS asked CROSS JOIN LATERAL (
                SELECT coalesce(sum(answered) FILTER (WHERE is_first), 0)::float8 AS first_answered,
                    coalesce(sum(suspected) FILTER (WHERE is_first), 0)::float8 AS first_suspected,
                    coalesce(sum(answered), 0)::float8 AS all_answered,
                    coalesce(sum(suspected), 0)::float8 AS all_suspected
                FROM (
                    SELECT answered, suspected, m.minute <= asked.since + $2 * interval '1 microsecond' AS is_first
                    FROM route_minutes m WHERE m.route_id = asked.route_id AND m.minute >= asked.since
                        AND m.minute <= asked.since + $5 * interval '1 microsecond'
                ) AS minutes
            ) AS sums
        ), decided AS MATERIALIZED (
            SELECT due.*, \(judgement) AS judgement FROM due JOIN heard USING (route_id, since)
        ), judged AS (
            UPDATE registrations r SET state = 3
            FROM decided CROSS JOIN LATERAL (
                SELECT registered_at FROM registration_pulse WHERE registration_id = decided.registration_id LIMIT 1
            ) AS p
            WHERE r.id = decided.registration_id AND decided.judgement = 'confirmed' AND r.state = 2
                AND r.generation = decided.generation AND p.registered_at <= decided.suspected_at
            RETURNING r.id, r.app_id, r.generation, r.installation, r.kind, r.provider, r.state, 2 AS before,
                decided.reason
        ), ended AS (
            DELETE FROM suspicions WHERE registration_id = ANY (ARRAY(
                SELECT registration_id FROM decided WHERE judgement <> 'waits'))
        ), waiting AS (
            UPDATE suspicions s SET due_at = CASE
                WHEN decided.age < $2 * interval '1 microsecond' THEN s.suspected_at + $2 * interval '1 microsecond'
                ELSE coalesce($1, now()) + $6 * interval '1 microsecond' END
            FROM decided WHERE s.registration_id = decided.registration_id AND decided.judgement = 'waits'
        ), \(feedback)
        SELECT count(*) FROM judged
        """)
}
