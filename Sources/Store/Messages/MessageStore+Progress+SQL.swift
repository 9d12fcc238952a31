import Postgres

/// How far a message is, in one snapshot with its account.
enum ProgressSQL {
    /// Reasons told of each provider.
    private static let reasonsMax = 20
    /// Told again every fifteen seconds while it lasts.
    private static let outageIsFresh = "interval '60 seconds'"

    // What was cut while this began to read is due in a moment, and waits for nothing.
    private static let isLater = """
        p.due_at > clock.now + CASE WHEN p.waits_for IS NULL THEN interval '1 second' ELSE interval '0' END
        """

    // Of each route and service of the message: its open parcels by what they are at. Those of a format
    // that is not known here are counted, and not explained.
    private static let groups = """
        SELECT p.route_id, s.suffix, p.state, \(isLater) AS is_later,
            CASE WHEN \(isLater) THEN p.waits_for END AS waits_for, sum(p.pending)::bigint AS pushes,
            min(p.due_at) AS first_due, max(p.due_at) AS last_due,
            bool_or(p.state = 2) OVER (PARTITION BY p.route_id, s.suffix) AS is_leased
        FROM parcels p LEFT JOIN (VALUES \(WaitSQL.services)) AS s (service, suffix)
            ON \(WaitSQL.isKnown("p", of: "s"))
        WHERE p.message_id = m.id GROUP BY p.route_id, s.suffix, p.state, is_later, waits_for
        """

    // 1 sending, 2 ready; else as `PushWait.Cause`. A rest and an outage hold up what is due, and what their end is awaited
    // for, unless something is sent to the route all the same.
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

    // Since its trouble began, in a minute of its own: a message with a rate is leased for moments, and another process may
    // well be sending.
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

    // At most one for each cause, and each word of why it is due later, of each route: an app has a thousand.
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

    // How far planners are on their way through the ids of the app, which begins and ends with its own first and last:
    // the highest of all is another app's. Nothing where they go by names, by tokens, or by hours.
    private static let scan = """
        LEFT JOIN LATERAL (
            SELECT plan.planned_through - first.id + 1 AS walked, last.id - first.id + 1 AS whole
            FROM plans plan CROSS JOIN LATERAL (\(live("ASC"))) AS first CROSS JOIN LATERAL (\(live("DESC"))) AS last
            WHERE plan.message_id = m.id AND m.local_hour IS NULL
                AND NOT (m.audience_summary::jsonb ?| ARRAY['installations', 'tokens'])
        ) AS walk ON true
        """

    // As `AudienceSQL.live`: one entry of the same index.
    private static func live(_ order: String) -> String {
        """
        SELECT id FROM registrations
        WHERE app_id = m.app_id AND (kind, id) > (m.kind, 0) AND (kind, id) <= (m.kind, m.horizon) AND state < 3
        ORDER BY app_id \(order), kind \(order), id \(order) LIMIT 1
        """
    }

    /// $1 app, $2 message, $3 now. By the clock that stands still, which everything here is compared with.
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

    /// $1 process, $2 credentials, $3 reasons, $4 for how long, $5 how long they rest still (-1: they don't), both in
    /// microseconds, $6 now. All that hold: what is not named is over.
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

    /// $1 now, $2 rows at most. Of processes that have ended.
    static let sweepOutages = Statement(
        "sweep_lane_outages",
        """
        DELETE FROM lane_outages WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM lane_outages WHERE reported_at < coalesce($1, clock_timestamp()) - interval '1 hour'
            LIMIT $2 FOR UPDATE SKIP LOCKED))
        """)
}
