import Model
import Postgres

/// Statements that apply providers' verdicts about tokens.
enum VerdictSQL {
    private static let now = "coalesce(:now, now())"
    private static let retired = RegistrationState.retired.sql
    private static let suspected = RegistrationState.suspected.sql
    private static let active = RegistrationState.active.sql

    // The verdict of feedback about a registration that changed its state.
    private static let verdict = """
        CASE state WHEN \(retired) THEN \(FeedbackVerdict.retired.sql)
                    WHEN \(suspected) THEN \(FeedbackVerdict.suspected.sql) ELSE \(FeedbackVerdict.cleared.sql) END
        """

    /// Locks the registrations, as registering does: verdicts are judged on committed rows.
    static let lock = Statement(
        "verdict_lock", "SELECT id FROM registrations WHERE id = ANY (:registrations) ORDER BY id FOR NO KEY UPDATE")

    // The backend knows nothing of registrations that only subscriptions made.
    private static let isNews = "before <> state AND kind <> \(TokenKind.wakeUp.sql)"

    // Input: rows `judged` (a registration's columns after the change, with the state before and the reason).
    private static let feedback = """
        written AS (
            INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason, at)
            SELECT app_id, id, generation, installation, kind, provider, \(verdict), reason,
                coalesce(:now, clock_timestamp())
            FROM judged WHERE \(isNews) ORDER BY id
        )
        """

    // The same as `feedback`, and the tokens that were found: the route that they left, and the one they were found on.
    private static let feedbackWithFound = """
        written AS (
            INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason, at,
                from_environment, to_environment)
            SELECT app_id, id, generation, installation, kind, provider, verdict, reason,
                coalesce(:now, clock_timestamp()), from_environment, to_environment
            FROM (
                SELECT judged.*, \(verdict) AS verdict,
                    NULL::smallint AS from_environment, NULL::smallint AS to_environment
                FROM judged WHERE \(isNews)
                UNION ALL
                SELECT judged.*, \(FeedbackVerdict.environmentChanged.sql), origin.environment, other.environment
                FROM judged JOIN routes origin ON origin.id = judged.left_route
                    JOIN routes other ON other.id = judged.found_on
                WHERE judged.kind <> \(TokenKind.wakeUp.sql)
            ) AS entries
            ORDER BY id, to_environment NULLS FIRST
        )
        """

    // Whether the latest answers about the registration's route look like a mistake of ours (`SuspicionRule.isBatch`).
    private static let isGuarded = """
        (SELECT sums.suspected > :share_max * greatest(sums.answered, :sample_min)
                OR sums.suspected >= :whole_audience_min AND sums.suspected >= sums.answered
            FROM (
                SELECT coalesce(sum(m.suspected), 0)::float8 AS suspected, coalesce(sum(m.answered), 0)::float8 AS answered
                FROM route_minutes m WHERE m.route_id = r.route_id
                    AND m.minute >= date_trunc('minute', \(now) - :window_us * interval '1 microsecond')
            ) AS sums)
        """

    /// Applies verdicts; returns how many registrations became retired, suspected, active. The states are those that
    /// the verdicts lead to. A token that was not found has no route.
    ///
    /// The rules are those of `TokenLifecycle.judge`. A suspicion about a suspected token is added to the pending one,
    /// or opens the next window if that was judged. A token that took a push is proven, and so is one that was found. The
    /// second blame retires one that is not. A token that was found gets feedback under the generation that was
    /// suspected: first its new state, then its environment.
    static let judge = Statement(
        "verdict_judge",
        """
        WITH known AS MATERIALIZED (
            SELECT r.id, r.route_id, r.generation, r.state AS before, input.state, input.reason, input.found_on,
                input.compared, input.as_of, u.blamed_at,
                CASE WHEN input.blames AND u.registration_id IS NOT NULL THEN NOT \(isGuarded) ELSE false END AS blames
            FROM unnest(:registrations, :generations, :states, :as_of, :reasons, :found_on, :compared, :blames)
                AS input (id, generation, state, as_of, reason, found_on, compared, blames)
            JOIN registrations r ON r.id = input.id
            JOIN registration_pulse p ON p.registration_id = r.id AND r.generation = input.generation
            LEFT JOIN unproven_subscribers u ON u.registration_id = r.id
            WHERE CASE
                WHEN input.found_on IS NOT NULL THEN r.state < \(retired)
                WHEN input.state = \(active) THEN r.state = \(suspected)
                    OR r.state = \(active) AND u.registration_id IS NOT NULL
                ELSE r.state < \(retired) AND p.registered_at <= input.as_of END
        ), valid AS MATERIALIZED (
            SELECT id, route_id, generation, before, reason, found_on, compared, blames,
                CASE WHEN blames AND blamed_at < as_of THEN \(retired) ELSE state END AS state
            FROM known
        ), blamed AS (
            UPDATE unproven_subscribers u SET blamed_at = \(now)
            FROM valid
            WHERE u.registration_id = valid.id AND valid.blames AND valid.state = \(suspected) AND u.blamed_at IS NULL
        ), proven AS (
            DELETE FROM unproven_subscribers
            WHERE registration_id = ANY (ARRAY(SELECT id FROM valid WHERE state = \(active)))
        ), judged AS (
            UPDATE registrations r SET state = valid.state, route_id = coalesce(valid.found_on, r.route_id),
                generation = r.generation + (valid.found_on IS NOT NULL)::integer,
                environments_compared = CASE WHEN valid.compared
                    THEN r.generation + (valid.found_on IS NOT NULL)::integer ELSE r.environments_compared END,
                mistaken_route_id = CASE WHEN valid.found_on IS NOT NULL THEN r.route_id
                    WHEN NOT valid.compared THEN r.mistaken_route_id END
            FROM valid
            WHERE r.id = valid.id AND (valid.before <> valid.state OR valid.compared)
            RETURNING r.id, r.app_id, valid.generation, r.installation, r.kind, r.provider, r.state, valid.before,
                valid.reason, valid.route_id AS left_route, valid.found_on
        ), doubted AS (
            INSERT INTO suspicions (registration_id, route_id, generation, reason, suspected_at, due_at)
            SELECT id, route_id, generation, reason, \(now), \(now) FROM valid WHERE state = \(suspected)
            ON CONFLICT (registration_id) DO UPDATE SET suspected_again_at = excluded.suspected_at
        ), forgotten AS (
            DELETE FROM suspicions
            WHERE registration_id = ANY (ARRAY(SELECT id FROM judged WHERE state <> \(suspected) AND before <> state))
        ), \(feedbackWithFound)
        SELECT count(*) FILTER (WHERE state = \(retired)), count(*) FILTER (WHERE state = \(suspected)),
            count(*) FILTER (WHERE state = \(active))
        FROM judged WHERE before <> state
        """)

    /// Counts tokens that were found in the other environment, in their routes' minutes. Transactions that count in one
    /// minute wait for each other, so that together they move no more than allowed. The registrations are locked.
    static let countFound = Statement(
        "verdict_count_found",
        """
        INSERT INTO route_minutes (route_id, minute, found)
        SELECT r.route_id, date_trunc('minute', \(now)), count(*)
        FROM unnest(:registrations, :generations) AS input (id, generation)
            JOIN registrations r ON r.id = input.id AND r.generation = input.generation
        WHERE r.state < \(retired)
        GROUP BY r.route_id ORDER BY r.route_id
        ON CONFLICT (route_id, minute) DO UPDATE SET found = route_minutes.found + excluded.found
        """)

    /// `RouteFindings` of each route, with its environment and topic.
    static let findings = Statement(
        "verdict_findings",
        """
        SELECT routes.id, routes.environment, routes.topic, sums.found, sums.answered, sums.borne_out
        FROM unnest(:routes) AS asked (id) JOIN routes ON routes.id = asked.id CROSS JOIN LATERAL (
            SELECT coalesce(sum(m.found) FILTER (WHERE m.minute >= since.window), 0)::bigint AS found,
                coalesce(sum(m.answered) FILTER (WHERE m.minute >= since.window), 0)::bigint AS answered,
                coalesce(sum(m.answered - m.suspected - m.found) FILTER (WHERE m.minute < since.window), 0)::bigint
                    AS borne_out
            FROM (SELECT date_trunc('minute', \(now) - :window_us * interval '1 microsecond') AS window) AS since
                JOIN route_minutes m ON m.route_id = asked.id
                    AND m.minute >= since.window - :window_max_us * interval '1 microsecond'
        ) AS sums
        """)

    /// `RefusedRoute` of each route with suspicions among its latest answers.
    static let refusedRoutes = Statement(
        "verdict_refused_routes",
        """
        SELECT r.id, a.slug, r.provider, r.environment, r.topic, sums.answered, sums.suspected
        FROM routes r JOIN apps a ON a.id = r.app_id CROSS JOIN LATERAL (
            SELECT minute FROM route_minutes
            WHERE route_id = r.id AND answered > 0 AND minute >= \(now) - :within_us * interval '1 microsecond'
            ORDER BY minute DESC LIMIT 1
        ) AS latest CROSS JOIN LATERAL (
            SELECT coalesce(sum(answered), 0)::bigint AS answered, coalesce(sum(suspected), 0)::bigint AS suspected
            FROM route_minutes
            WHERE route_id = r.id AND minute > latest.minute - \(window) AND minute <= latest.minute
        ) AS sums
        WHERE a.deleted_at IS NULL AND sums.suspected > 0
        ORDER BY sums.suspected DESC, r.id LIMIT 100
        """)

    /// Due suspicions, by their registrations, looked up and locked one after the other.
    static let lockDue = Statement(
        "verdict_lock_due",
        """
        SELECT r.id FROM (
            SELECT registration_id FROM (
                SELECT registration_id FROM suspicions WHERE due_at <= \(now)
                ORDER BY due_at, registration_id LIMIT :limit
            ) AS next ORDER BY registration_id
        ) AS due CROSS JOIN LATERAL (
            SELECT id FROM registrations WHERE id = due.registration_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
        ) AS r
        """)

    private static let window = ":window_us * interval '1 microsecond'"
    private static let windowMax = ":window_max_us * interval '1 microsecond'"

    // The rule of `SuspicionRule.judge`.
    private static let judgement = """
        CASE WHEN due.age < \(window) THEN 'waits'
            WHEN first_suspected > :share_max * greatest(first_answered, :sample_min) THEN 'dropped'
            WHEN first_answered >= :sample_min THEN 'confirmed'
            WHEN all_answered >= :sample_min AND all_suspected > :share_max * all_answered THEN 'dropped'
            WHEN all_answered >= :sample_min AND due.suspected_again_at >= due.suspected_at + \(window)
                THEN 'confirmed'
            WHEN due.age >= \(windowMax) THEN 'dropped'
            ELSE 'waits' END
        """

    /// Judges due suspicions; returns how many registrations became retired. The registrations are locked.
    ///
    /// The answers of a route are summed once for each minute in which suspicions about its tokens began.
    static let confirm = Statement(
        "verdict_confirm",
        """
        WITH due AS MATERIALIZED (
            SELECT registration_id, route_id, generation, reason, suspected_at, suspected_again_at,
                date_trunc('minute', suspected_at) AS since, \(now) - suspected_at AS age
            FROM suspicions WHERE registration_id = ANY (:registrations) AND due_at <= \(now)
        ), sampled AS MATERIALIZED (
            SELECT asked.route_id, asked.since, sums.*
            FROM (SELECT DISTINCT route_id, since FROM due) AS asked CROSS JOIN LATERAL (
                SELECT coalesce(sum(answered) FILTER (WHERE is_first), 0)::float8 AS first_answered,
                    coalesce(sum(suspected) FILTER (WHERE is_first), 0)::float8 AS first_suspected,
                    coalesce(sum(answered), 0)::float8 AS all_answered,
                    coalesce(sum(suspected), 0)::float8 AS all_suspected
                FROM (
                    SELECT answered, suspected, m.minute <= asked.since + \(window) AS is_first
                    FROM route_minutes m WHERE m.route_id = asked.route_id AND m.minute >= asked.since
                        AND m.minute <= asked.since + \(windowMax)
                ) AS minutes
            ) AS sums
        ), decided AS MATERIALIZED (
            SELECT due.*, \(judgement) AS judgement FROM due JOIN sampled USING (route_id, since)
        ), judged AS (
            UPDATE registrations r SET state = \(retired)
            FROM decided CROSS JOIN LATERAL (
                SELECT registered_at FROM registration_pulse WHERE registration_id = decided.registration_id LIMIT 1
            ) AS p
            WHERE r.id = decided.registration_id AND decided.judgement = 'confirmed' AND r.state = \(suspected)
                AND r.generation = decided.generation AND p.registered_at <= decided.suspected_at
            RETURNING r.id, r.app_id, r.generation, r.installation, r.kind, r.provider, r.state,
                \(suspected) AS before, decided.reason
        ), ended AS (
            DELETE FROM suspicions WHERE registration_id = ANY (ARRAY(
                SELECT registration_id FROM decided WHERE judgement <> 'waits'))
        ), waiting AS (
            UPDATE suspicions s SET due_at = CASE
                WHEN decided.age < \(window) THEN s.suspected_at + \(window)
                ELSE \(now) + :pause_us * interval '1 microsecond' END
            FROM decided WHERE s.registration_id = decided.registration_id AND decided.judgement = 'waits'
        ), \(feedback)
        SELECT count(*) FROM judged
        """)
}
