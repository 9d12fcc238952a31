import Model
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
            bool_or(p.state = \(ParcelState.leased.sql)) OVER (PARTITION BY p.route_id, s.suffix) AS is_leased
        FROM parcels p LEFT JOIN (VALUES \(WaitSQL.services)) AS s (service, suffix)
            ON \(WaitSQL.isKnown("p", of: "s"))
        WHERE p.message_id = m.id GROUP BY p.route_id, s.suffix, p.state, is_later, waits_for
        """

    /// The causes of pushes that don't wait, beside those of `PushWait.Cause`.
    static let (sending, ready): (Int16, Int16) = (1, 2)

    // An open circuit breaker or an outage explains pushes that are due, and those that wait for its end, unless the
    // route is sending all the same.
    private static let cause = """
        CASE WHEN w.state = \(ParcelState.leased.sql) THEN \(sending)
            WHEN \(ControlSQL.isStopped("m")) THEN \(PushWait.Cause.onHold.sql)
            WHEN w.suffix IS NULL THEN CASE WHEN w.is_later THEN \(PushWait.Cause.later.sql) ELSE \(ready) END
            WHEN speaker.id IS NULL THEN \(PushWait.Cause.credential.sql)
            WHEN b.credential_id IS NOT NULL THEN \(PushWait.Cause.credentialRefused.sql)
            WHEN outage.since IS NOT NULL AND NOT w.is_leased AND NOT \(isAnswered)
                AND (NOT w.is_later OR w.waits_for IN ('unreachable', 'lane_blocked', 'not_sent'))
                THEN CASE WHEN outage.open_until IS NULL THEN \(PushWait.Cause.unreachable.sql)
                    ELSE \(PushWait.Cause.throttled.sql) END
            WHEN w.is_later THEN \(PushWait.Cause.later.sql)
            ELSE \(ready) END
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
        SELECT r.provider, r.environment, coalesce(\(WaitSQL.topicOfService), r.topic) AS whole_topic, w.pushes, w.last_due,
            \(cause) AS cause, w.waits_for, b.reason AS refusal, outage.reason AS fault, outage.since, w.first_due,
            outage.open_until
        FROM (\(groups)) AS w JOIN routes r ON r.id = w.route_id
        \(WaitSQL.credential(now: ":now"))
        LEFT JOIN LATERAL (
            SELECT o.since, o.reason, o.open_until FROM lane_outages o
            WHERE o.credential_id = speaker.id AND o.reported_at > clock.now - \(outageIsFresh)
            ORDER BY o.open_until, o.since LIMIT 1
        ) AS outage ON true
        """

    private static let openColumns = [
        "provider", "environment", "topic", "cause", "reason", "pushes", "since", "first_due", "last_due",
    ]
    private static let reasonColumns = ["provider", "state", "reason", "count", "whole"]
    private static let paceColumns = ["provider", "ended", "micros", "idle"]

    // At most one row of each route for each cause and each reason of a later due time: an app may have a thousand
    // routes.
    private static let open = """
        CROSS JOIN LATERAL (
            SELECT \(MessageSQL.each(openColumns) { "array_agg(\($0)) AS \($0)" })
            FROM (
                SELECT provider, environment, whole_topic AS topic, cause::smallint, coalesce(reason, '') AS reason,
                    sum(pushes)::bigint AS pushes, coalesce(min(since), 'epoch') AS since,
                    min(CASE cause WHEN \(PushWait.Cause.throttled.sql) THEN open_until ELSE first_due END) AS first_due,
                    max(last_due) AS last_due
                FROM (
                    SELECT found.*, CASE WHEN cause = \(PushWait.Cause.later.sql) THEN waits_for
                        WHEN cause = \(PushWait.Cause.credentialRefused.sql) THEN refusal
                        WHEN cause IN (\([PushWait.Cause.unreachable, .throttled].sql)) THEN fault END AS reason
                    FROM (\(found)) AS found
                ) AS explained GROUP BY provider, environment, topic, cause, reason
                ORDER BY pushes DESC, provider, environment, topic, cause, reason
            ) AS summed
        ) AS open
        """

    private static let why = """
        CROSS JOIN LATERAL (
            SELECT \(MessageSQL.each(reasonColumns) { "array_agg(\($0) ORDER BY provider, place) AS \($0)" })
            FROM (
                SELECT provider, state, reason, count, sum(count) OVER (PARTITION BY provider)::bigint AS whole,
                    row_number() OVER (PARTITION BY provider ORDER BY count DESC, state, reason COLLATE "C") AS place
                FROM message_provider_reasons WHERE message_id = m.id
            ) AS ranked WHERE place <= \(reasonsMax)
        ) AS why
        """

    private static let pace = """
        CROSS JOIN LATERAL (
            SELECT \(MessageSQL.each(paceColumns) { "array_agg(\($0)) AS \($0)" })
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
        WHERE app_id = m.app_id AND (kind, id) > (m.kind, 0) AND (kind, id) <= (m.kind, m.horizon)
            AND state < \(RegistrationState.retired.sql)
        ORDER BY app_id \(order), kind \(order), id \(order) LIMIT 1
        """
    }

    /// Every time is compared with `now()`, which stands still in the statement.
    static let ofMessage = Statement(
        "message_progress",
        """
        SELECT \(MessageSQL.wholeColumns), clock.now,
            \(MessageSQL.each(openColumns) { "open.\($0)" }), \(MessageSQL.each(reasonColumns) { "why.\($0)" }),
            \(MessageSQL.each(paceColumns) { "pace.\($0)" }), walk.walked, walk.whole
        FROM messages m CROSS JOIN (SELECT coalesce(:now, now()) AS now) AS clock
            \(MessageSQL.openParcels) \(MessageSQL.byProvider) \(open) \(why) \(pace) \(scan)
        WHERE m.app_id = :app AND m.id = :message
        """)

    /// Stores the outages of a process; those that the list does not name are over. A circuit breaker that is not open
    /// has a negative time.
    static let reportOutages = Statement(
        "lane_outages_tell",
        """
        WITH over AS (DELETE FROM lane_outages WHERE process = :process AND NOT credential_id = ANY (:credentials))
        INSERT INTO lane_outages (credential_id, process, reason, since, open_until, reported_at)
        SELECT c.id, :process, input.reason, clock.now - input.age * interval '1 microsecond',
            CASE WHEN input.open_for >= 0 THEN clock.now + input.open_for * interval '1 microsecond' END, clock.now
        FROM unnest(:credentials, :reasons, :ages_us, :open_for_us) AS input (credential_id, reason, age, open_for)
            JOIN credentials c ON c.id = input.credential_id
            CROSS JOIN (SELECT coalesce(:now, clock_timestamp()) AS now) AS clock
        ON CONFLICT (credential_id, process) DO UPDATE SET
            reason = excluded.reason, reported_at = excluded.reported_at, open_until = excluded.open_until,
            since = CASE WHEN (lane_outages.open_until IS NULL) = (excluded.open_until IS NULL)
                THEN lane_outages.since ELSE excluded.since END
        """)

    /// Removes the outages of ended processes.
    static let sweepOutages = Statement(
        "sweep_lane_outages",
        """
        DELETE FROM lane_outages WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM lane_outages WHERE reported_at < coalesce(:now, clock_timestamp()) - interval '1 hour'
            LIMIT :limit FOR UPDATE SKIP LOCKED))
        """)
}
