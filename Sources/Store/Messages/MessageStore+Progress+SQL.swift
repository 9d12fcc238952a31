import Postgres

/// A message's progress, in one snapshot with its account.
enum ProgressSQL {
    /// The reasons that are reported for each provider.
    private static let reasonsMax = 20
    /// A process reports an outage every fifteen seconds while it lasts.
    private static let outageIsFresh = "interval '60 seconds'"

    // A parcel that was cut since this query began is due in a moment, and waits for nothing.
    private static let isLater = """
        p.due_at > clock.now + CASE WHEN p.waits_for IS NULL THEN interval '1 second' ELSE interval '0' END
        """

    // The message's open parcels by route, service, state and cause. Parcels of a format that is not known here are
    // counted but not explained.
    private static let groups = """
        SELECT p.route_id, s.suffix, p.state, \(isLater) AS is_later,
            CASE WHEN \(isLater) THEN p.waits_for END AS waits_for, sum(p.pending)::bigint AS pushes,
            min(p.due_at) AS first_due, max(p.due_at) AS last_due,
            bool_or(p.state = 2) OVER (PARTITION BY p.route_id, s.suffix) AS is_leased
        FROM parcels p LEFT JOIN (VALUES \(WaitSQL.services)) AS s (service, suffix)
            ON \(WaitSQL.isKnown("p", of: "s"))
        WHERE p.message_id = m.id GROUP BY p.route_id, s.suffix, p.state, is_later, waits_for
        """

    // 1 sending, 2 ready, else a `PushWait.Cause`. An open circuit breaker or an outage explains pushes that are due,
    // and those that wait for its end, unless the route is sending all the same.
    private static let cause = """
        CASE WHEN w.state = 2 THEN 1
            WHEN \(ControlSQL.isStopped("m")) THEN 3
            WHEN w.suffix IS NULL THEN CASE WHEN w.is_later THEN 4 ELSE 2 END
            WHEN speaker.id IS NULL THEN 5
            WHEN b.credential_id IS NOT NULL THEN 6
            WHEN outage.since IS NOT NULL AND NOT w.is_leased AND NOT \(isAnswered)
                AND (NOT w.is_later OR w.waits_for IN ('unreachable', 'lane_blocked', 'not_sent'))
                THEN CASE WHEN outage.open_until IS NULL THEN 7 ELSE 8 END
            WHEN w.is_later THEN 4
            ELSE 2 END
        """

    // Whether the route got answers in a minute after its outage began. A message with a rate is leased only for
    // moments, and another process may well be sending.
    private static let isAnswered = """
        EXISTS (
            SELECT FROM route_minutes k
            WHERE k.route_id = w.route_id AND k.answered > 0 AND k.minute > outage.since
                AND k.minute >= date_trunc('minute', clock.now) - interval '1 minute')
        """

    private static let found = """
        SELECT r.provider, r.environment, coalesce(\(WaitSQL.topicOfService), r.topic) AS whole_topic, w.pushes, w.last_due, \(cause) AS cause,
            w.waits_for, b.reason AS refusal, outage.reason AS fault, outage.since, w.first_due, outage.open_until
        FROM (\(groups)) AS w JOIN routes r ON r.id = w.route_id
        \(WaitSQL.credential(now: "$3"))
        LEFT JOIN LATERAL (
            SELECT o.since, o.reason, o.open_until FROM lane_outages o
            WHERE o.credential_id = speaker.id AND o.reported_at > clock.now - \(outageIsFresh)
            ORDER BY o.open_until, o.since LIMIT 1
        ) AS outage ON true
        """

    // At most one row of each route for each cause and each reason of a later due time: an app may have a thousand
    // routes.
    private static let open = """
        CROSS JOIN LATERAL (
            SELECT array_agg(provider) AS providers, array_agg(environment) AS environments, array_agg(topic) AS topics,
                array_agg(cause::smallint) AS causes, array_agg(reason) AS reasons, array_agg(pushes) AS pushes,
                array_agg(since) AS since, array_agg(first_due) AS first_due, array_agg(last_due) AS last_due
            FROM (
                SELECT provider, environment, whole_topic AS topic, cause, coalesce(reason, '') AS reason,
                    sum(pushes)::bigint AS pushes, coalesce(min(since), 'epoch') AS since,
                    min(CASE cause WHEN 8 THEN open_until ELSE first_due END) AS first_due, max(last_due) AS last_due
                FROM (
                    SELECT found.*,
                        CASE WHEN cause = 4 THEN waits_for WHEN cause = 6 THEN refusal WHEN cause >= 7 THEN fault END
                            AS reason
                    FROM (\(found)) AS found
                ) AS told GROUP BY provider, environment, topic, cause, reason
                ORDER BY pushes DESC, provider, environment, topic, cause, reason
            ) AS summed
        ) AS open
        """

    private static let why = """
        CROSS JOIN LATERAL (
            SELECT array_agg(provider ORDER BY provider, place) AS providers,
                array_agg(state ORDER BY provider, place) AS states, array_agg(reason ORDER BY provider, place) AS reasons,
                array_agg(count ORDER BY provider, place) AS counts, array_agg(whole ORDER BY provider, place) AS wholes
            FROM (
                SELECT provider, state, reason, count, sum(count) OVER (PARTITION BY provider)::bigint AS whole,
                    row_number() OVER (PARTITION BY provider ORDER BY count DESC, state, reason COLLATE "C") AS place
                FROM message_provider_reasons WHERE message_id = m.id
            ) AS ranked WHERE place <= \(reasonsMax)
        ) AS why
        """

    private static let pace = """
        CROSS JOIN LATERAL (
            SELECT array_agg(provider) AS providers, array_agg(ended) AS ended, array_agg(micros) AS micros,
                array_agg(idle) AS idle
            FROM (\(PaceSQL.ofMessage(now: "clock.now"))) AS paced
        ) AS pace
        """

    // How far planners are on their way through the app's ids, between its own first and last: the highest id of all is
    // another app's. The columns are null if planners go by names, tokens or local hours.
    private static let scan = """
        LEFT JOIN LATERAL (
            SELECT plan.planned_through - first.id + 1 AS walked, last.id - first.id + 1 AS whole
            FROM plans plan CROSS JOIN LATERAL (\(live("ASC"))) AS first CROSS JOIN LATERAL (\(live("DESC"))) AS last
            WHERE plan.message_id = m.id AND m.local_hour IS NULL
                AND NOT (m.audience_summary::jsonb ?| ARRAY['installations', 'tokens'])
        ) AS walk ON true
        """

    // One entry of the index that `AudienceSQL.live` uses.
    private static func live(_ order: String) -> String {
        """
        SELECT id FROM registrations
        WHERE app_id = m.app_id AND (kind, id) > (m.kind, 0) AND (kind, id) <= (m.kind, m.horizon) AND state < 3
        ORDER BY app_id \(order), kind \(order), id \(order) LIMIT 1
        """
    }

    /// $1 app, $2 message, $3 now. Every time is compared with `now()`, which stands still in the statement.
    static let ofMessage = Statement(
        "message_progress",
        """
        SELECT \(MessageSQL.wholeColumns), clock.now,
            open.providers, open.environments, open.topics, open.causes, open.reasons, open.pushes, open.since,
            open.first_due, open.last_due, why.providers, why.states, why.reasons, why.counts, why.wholes,
            pace.providers, pace.ended, pace.micros, pace.idle, walk.walked, walk.whole,
            \(MessageSQL.formColumns)
        FROM messages m CROSS JOIN (SELECT coalesce($3, now()) AS now) AS clock
            \(MessageSQL.openParcels) \(MessageSQL.byProvider) \(open) \(why) \(pace) \(scan)
        WHERE m.app_id = $1 AND m.id = $2
        """)

    /// $1 process, $2 credentials, $3 reasons, $4 ages, $5 how long the circuit breaker stays open (-1: it is not
    /// open), $6 now. Times are in microseconds. What the list does not name is over.
    static let reportOutages = Statement(
        "lane_outages_tell",
        """
        WITH over AS (DELETE FROM lane_outages WHERE process = $1 AND NOT credential_id = ANY ($2))
        INSERT INTO lane_outages (credential_id, process, reason, since, open_until, reported_at)
        SELECT c.id, $1, said.reason, clock.now - said.age * interval '1 microsecond',
            CASE WHEN said.rest >= 0 THEN clock.now + said.rest * interval '1 microsecond' END, clock.now
        FROM unnest($2, $3, $4, $5) AS said (credential_id, reason, age, rest)
            JOIN credentials c ON c.id = said.credential_id
            CROSS JOIN (SELECT coalesce($6, clock_timestamp()) AS now) AS clock
        ON CONFLICT (credential_id, process) DO UPDATE SET
            reason = excluded.reason, reported_at = excluded.reported_at, open_until = excluded.open_until,
            since = CASE WHEN (lane_outages.open_until IS NULL) = (excluded.open_until IS NULL)
                THEN lane_outages.since ELSE excluded.since END
        """)

    /// $1 now, $2 rows at most. Removes the outages of ended processes.
    static let sweepOutages = Statement(
        "sweep_lane_outages",
        """
        DELETE FROM lane_outages WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM lane_outages WHERE reported_at < coalesce($1, clock_timestamp()) - interval '1 hour'
            LIMIT $2 FOR UPDATE SKIP LOCKED))
        """)
}
