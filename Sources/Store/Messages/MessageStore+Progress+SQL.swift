import Model
import Postgres
import QueueRules

/// A message's progress, in one snapshot with its account.
enum ProgressSQL {
    /// The reasons that are reported for each provider.
    private static let reasonsMax = 20
    // A parcel that was cut since this query began is due in a moment, and waits for nothing.
    private static let isLater = """
        p.due_at > clock.now + CASE WHEN p.waits_for IS NULL THEN interval '1 second' ELSE interval '0' END
        """

    // The message's open parcels by route, service, state and cause. The suffix is null for parcels of a format that is
    // not known here.
    private static let groups = """
        SELECT p.route_id, s.service, s.suffix, p.state, \(isLater) AS is_later,
            CASE WHEN \(isLater) THEN p.waits_for END AS waits_for,
            CASE WHEN \(isLater) THEN p.wait_quote END AS wait_quote, min(p.waits_since) AS waits_since,
            sum(p.pending)::bigint AS pushes,
            min(p.due_at) AS first_due, max(p.due_at) AS last_due,
            bool_or(p.state = \(ParcelState.leased.sql)) OVER (PARTITION BY p.route_id, s.suffix) AS is_leased
        FROM parcels p LEFT JOIN (VALUES \(WaitSQL.services)) AS s (service, suffix)
            ON \(WaitSQL.isKnown("p", of: "s"))
        WHERE p.message_id = m.id GROUP BY p.route_id, s.service, s.suffix, p.state, is_later, waits_for, wait_quote
        """

    /// The cause of pushes that are being sent, beside those of `PushWait.Cause`.
    static let sending: Int16 = 1

    // The waits after an attempt that an outage explains.
    private static let explained = [
        WaitCause.unreachable, .laneBlocked, .notSent, .credentialRefused, .providerTokenExpired,
    ].map { "'\($0.rawValue)'" }.joined(separator: ", ")

    // A reported outage explains pushes that are due, and those that wait for its end, unless the route is sending all
    // the same.
    private static let cause = """
        CASE WHEN w.state = \(ParcelState.leased.sql) THEN \(sending)
            WHEN \(ControlSQL.isStopped("m")) THEN \(PushWait.Cause.onHold.sql)
            WHEN w.suffix IS NULL THEN CASE WHEN w.is_later THEN \(PushWait.Cause.later.sql)
                ELSE \(PushWait.Cause.newerProgram.sql) END
            WHEN speaker.id IS NULL THEN \(PushWait.Cause.credential.sql)
            WHEN b.credential_id IS NOT NULL THEN \(PushWait.Cause.credentialRefused.sql)
            WHEN outage.cause IS NOT NULL AND NOT w.is_leased
                AND NOT \(WaitSQL.isAnswered("w.route_id", now: "clock.now"))
                AND (NOT w.is_later OR w.waits_for IN (\(explained)))
                THEN outage.cause
            WHEN w.is_later THEN \(PushWait.Cause.later.sql)
            WHEN m.rate_per_second IS NOT NULL THEN \(PushWait.Cause.rate.sql)
            ELSE \(PushWait.Cause.turn.sql) END
        """

    // Since when no credential covers pushes: since they are due, or since the last one that did was retired.
    private static let uncovered = """
        CASE WHEN speaker.id IS NULL AND w.first_due <= clock.now THEN greatest(w.first_due, (
            SELECT max(c.retired_at) FROM credentials c
            WHERE c.app_id = r.app_id AND c.provider = r.provider AND c.environment = r.environment
                AND c.state = \(CredentialState.retired.sql) AND \(CredentialSQL.covers("r.topic", "w.suffix")))) END
        """

    private static let found = """
        SELECT r.provider, r.environment, coalesce(\(WaitSQL.topicOfService), r.topic) AS whole_topic, w.pushes, w.last_due,
            \(cause) AS cause, coalesce(w.wait_quote, w.waits_for) AS waits_for, w.waits_since, b.reason AS refusal, b.blocked_at, outage.reason AS fault,
            outage.since AS outage_since, \(uncovered) AS uncovered_since, w.first_due, outage.open_until
        FROM (\(groups)) AS w JOIN routes r ON r.id = w.route_id
        \(WaitSQL.credential(now: ":now"))
        \(WaitSQL.outage(of: "w.route_id", "w.service", now: "clock.now"))
        """

    private static let reported = PushWait.Cause.reported.sql

    // The columns that depend on the cause.
    private static let explanations = """
        CASE WHEN cause = \(PushWait.Cause.later.sql) THEN waits_for
            WHEN cause = \(PushWait.Cause.credentialRefused.sql) THEN refusal
            WHEN cause IN (\(reported)) THEN fault END AS reason,
        CASE WHEN cause = \(PushWait.Cause.onHold.sql)
                THEN (SELECT stopped_at FROM stops WHERE message_id = m.id)
            WHEN cause = \(PushWait.Cause.credential.sql) THEN uncovered_since
            WHEN cause = \(PushWait.Cause.credentialRefused.sql) THEN blocked_at
            WHEN cause = \(PushWait.Cause.later.sql) THEN coalesce(waits_since, m.due_at, m.accepted_at)
            WHEN cause IN (\([PushWait.Cause.newerProgram, .rate, .turn].sql)) THEN least(first_due, clock.now)
            WHEN cause IN (\(reported)) THEN outage_since END AS since
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
                    SELECT found.*, \(explanations) FROM (\(found)) AS found
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

    // Why the message's plan waits: for its predecessor, or because it was set aside. A due message whose predecessor
    // has not started has no plan yet. The columns are null without a plan.
    private static let planWait = """
        LEFT JOIN LATERAL (
            SELECT CASE WHEN after_message IS NOT NULL AND NOT (\(PlanSQL.isFollowable)) THEN after_message END
                    AS predecessor,
                CASE WHEN planned_at > clock.now + interval '1 second' THEN planned_at END AS set_aside_until,
                true AS is_queued
            FROM plans WHERE plans.message_id = m.id
            UNION ALL
            SELECT before.message_id, NULL, true
            FROM schedules s LEFT JOIN schedules before ON before.message_id = s.after_message
            WHERE s.message_id = m.id AND s.due_at <= clock.now
        ) AS plan_wait ON true
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
            \(MessageSQL.each(paceColumns) { "pace.\($0)" }), walk.walked, walk.whole,
            plan_wait.predecessor, plan_wait.set_aside_until, plan_wait.is_queued,
            (SELECT stopped_at FROM stops WHERE message_id = m.id)
        FROM messages m CROSS JOIN (SELECT coalesce(:now, now()) AS now) AS clock
            \(MessageSQL.openParcels) \(MessageSQL.byProvider) \(open) \(why) \(pace) \(scan) \(planWait)
        WHERE m.app_id = :app AND m.id = :message
        """)

    /// Stores the outages of a process; those that the list does not name are over. A circuit breaker that is not open
    /// has a negative time.
    static let reportOutages = Statement(
        "lane_outages_tell",
        """
        WITH input AS (
            SELECT * FROM unnest(:credentials, :routes, :services, :causes, :reasons, :ages_us, :open_for_us)
                AS each (credential_id, route_id, service, cause, reason, age, open_for)
        ), over AS (
            DELETE FROM lane_outages o WHERE o.process = :process AND NOT EXISTS (
                SELECT FROM input WHERE input.credential_id = o.credential_id AND input.route_id = o.route_id
                    AND input.service = o.service)
        )
        INSERT INTO lane_outages (credential_id, process, route_id, service, cause, reason, since, open_until, reported_at)
        SELECT c.id, :process, input.route_id, input.service, input.cause, input.reason,
            clock.now - input.age * interval '1 microsecond',
            CASE WHEN input.open_for >= 0 THEN clock.now + input.open_for * interval '1 microsecond' END, clock.now
        FROM input JOIN credentials c ON c.id = input.credential_id
            CROSS JOIN (SELECT coalesce(:now, clock_timestamp()) AS now) AS clock
        ON CONFLICT (credential_id, process, route_id, service) DO UPDATE SET cause = excluded.cause,
            reason = excluded.reason, reported_at = excluded.reported_at, open_until = excluded.open_until,
            since = CASE WHEN lane_outages.cause = excluded.cause THEN lane_outages.since ELSE excluded.since END
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
