import Model
import Postgres
import QueueRules

/// The planner's statements: one slice is one transaction of three round trips, under `PlannerSQL.throughKeys`.
package enum PlanSQL {
    // A parcel `p` of the predecessor that is leased or will be leased soon. A parcel that can't be sent now is not
    // awaited, since it would hold up other routes. On its own route it is leased first all the same, because it has
    // been due for longer. A parcel on hold is awaited: its message is paused, or cancelled and soon gone. A
    // rate-limited one is awaited as long as its rate moves on.
    private static let isAwaited = """
        p.attempt = 0 AND (p.state IN (\([ParcelState.leased, .onHold].sql))
            OR p.state = \(ParcelState.rateLimited.sql) AND EXISTS (
                SELECT FROM message_rates b WHERE b.message_id = p.message_id
                    AND b.next_at > coalesce(:now, clock_timestamp()) - interval '10 seconds')
            OR p.state = \(ParcelState.ready.sql)
                AND (p.due_at > coalesce(:now, clock_timestamp()) - interval '10 seconds'
                    AND coalesce(p.waits_for, '') NOT IN (
                        '\(WaitCause.unreachable.rawValue)', '\(WaitCause.laneBlocked.rawValue)',
                        '\(WaitCause.credentialRefused.rawValue)', '\(WaitCause.providerTokenExpired.rawValue)',
                        '\(WaitCause.quietHours.rawValue)')))
        """

    // The order of an app's plans.
    private static let roundRobin = "ORDER BY priority, app_id, planned_at NULLS FIRST, message_id"
    private static let claimed = "message_id, planned_through, slices, planned_at"

    // One plan of any urgency, if no small ones were taken.
    private static var single: String {
        let before = "AND \(none("taken")) "
        let (urgent, bulk) = (MessageUrgency.transactional, MessageUrgency.bulk)
        let noneUrgent = "\(none("urgent")) AND \(none("urgent_again"))"
        return """
            urgent AS MATERIALIZED (
                \(first(of: urgent, "app_id > :last_urgent \(before)"))
            ), urgent_again AS MATERIALIZED (
                \(first(of: urgent, "app_id <= :last_urgent \(before)AND \(none("urgent"))"))
            ), bulk AS MATERIALIZED (
                \(first(of: bulk, ":takes_bulk AND app_id > :last_bulk \(before)AND \(noneUrgent)"))
            ), bulk_again AS MATERIALIZED (
                \(first(of: bulk, ":takes_bulk AND app_id <= :last_bulk \(before)AND \(noneUrgent) AND \(none("bulk"))"))
            )
            """
    }

    private static func none(_ of: String) -> String { "NOT EXISTS (SELECT FROM \(of))" }

    private static func first(of urgency: MessageUrgency, _ which: String) -> String {
        """
        SELECT \(claimed) FROM plans WHERE priority = \(urgency.sql) AND \(which) AND \(isReady)
            \(roundRobin) LIMIT 1 FOR UPDATE SKIP LOCKED
        """
    }

    /// Claims the next plans: several transactional ones, or one of any urgency, after the apps that had a slot last.
    ///
    /// Transactional plans come first. Within an urgency the apps take turns, beginning after the last one; within an
    /// app the plan comes first that waited longest. A plan that was put aside waits for its time. A follow-up message
    /// waits until its predecessor's pushes have had their first attempt, as far as they can be sent (`isAwaited`).
    ///
    /// It takes one plan of each app in turn, then a second one of each, as if they were claimed one by one. The number
    /// per app is limited so that all apps have a part. An app without a ready plan is skipped. If others are working on
    /// all transactional plans that were found, one of another app or urgency is claimed.
    ///
    /// Every column that changes comes from the locked row itself. A read of plans by key beside it would see the
    /// statement's snapshot, and plan a slice twice.
    static let claim = Statement(
        "plan_claim",
        """
        WITH RECURSIVE ahead AS (
            SELECT (\(nextApp("app_id > :last_urgent"))) AS app, 1 AS place
            UNION ALL
            SELECT (\(nextApp("app_id > ahead.app"))), place + 1
            FROM ahead WHERE app IS NOT NULL AND place < \(MessageStore.plannedTogetherMax)
        ), again AS (
            SELECT (\(nextApp("app_id <= :last_urgent"))) AS app, 1 AS place
            UNION ALL
            SELECT (\(nextApp("app_id > again.app AND app_id <= :last_urgent"))), place + 1
            FROM again WHERE app IS NOT NULL AND place < \(MessageStore.plannedTogetherMax)
        ), round AS MATERIALIZED (
            SELECT app, row_number() OVER (ORDER BY lap, place) AS place FROM (
                SELECT app, place, 1 AS lap FROM ahead UNION ALL SELECT app, place, 2 FROM again
            ) AS apps
            WHERE app IS NOT NULL ORDER BY lap, apps.place LIMIT least(:limit, \(MessageStore.plannedTogetherMax))
        ), taken AS MATERIALIZED (
            SELECT mine.*, round.place AS app_place,
                row_number() OVER (PARTITION BY round.place ORDER BY mine.planned_at NULLS FIRST, mine.message_id) AS lap
            FROM round CROSS JOIN LATERAL (
                SELECT \(claimed) FROM plans
                WHERE priority = \(MessageUrgency.transactional.sql) AND app_id = round.app AND \(isReady)
                \(roundRobin) LIMIT greatest(1, :limit / (SELECT count(*) FROM round)) FOR UPDATE SKIP LOCKED
            ) AS mine
        ), \(single), turn AS MATERIALIZED (
            SELECT \(claimed), lap, app_place FROM taken
            UNION ALL SELECT *, 1, 1 FROM urgent UNION ALL SELECT *, 1, 1 FROM urgent_again
            UNION ALL SELECT *, 1, 1 FROM bulk UNION ALL SELECT *, 1, 1 FROM bulk_again
        )
        \(rotation) ORDER BY turn.lap, turn.app_place
        """)

    private static func nextApp(_ which: String) -> String {
        """
        SELECT app_id FROM plans WHERE priority = \(MessageUrgency.transactional.sql) AND \(which) AND \(isReady)
        ORDER BY priority, app_id LIMIT 1
        """
    }

    private static let isReady = """
        format = ANY (:formats) AND (planned_at <= coalesce(:now, clock_timestamp())) IS NOT FALSE
            AND (after_message IS NULL OR (\(isFollowable)))
        """

    /// Whether the predecessor of a row of `plans` has started and is planned, and none of its parcels is awaited.
    static let isFollowable = """
        (SELECT before.message_id FROM plans before WHERE before.message_id = plans.after_message) IS NULL
            AND (SELECT before.message_id FROM schedules before WHERE before.message_id = plans.after_message) IS NULL
            AND NOT EXISTS (
                SELECT 1 FROM parcels p WHERE p.message_id = plans.after_message AND \(isAwaited))
        """

    private static let rotation = """
        SELECT turn.message_id, m.app_id, m.priority, turn.planned_through, turn.slices, m.format, m.kind, m.horizon,
            m.push_type, m.expires_at, coalesce(m.due_at, m.accepted_at), coalesce(m.hour_set_at, m.accepted_at),
            m.local_hour AT TIME ZONE 'UTC', m.late_at_once, c.audience
        FROM turn JOIN messages m ON m.id = turn.message_id
        LEFT JOIN message_contents c ON c.message_id = turn.message_id
        """

    /// Lets the transaction commit without waiting for the disk: the lease of the first parcel waits, and that makes
    /// earlier commits durable. If the server crashes in between, it still has the message and its plan, and the slices
    /// are cut again. It is not used where pushes or a message end: a terminal state that was reported is never taken
    /// back.
    package static let soonOnDisk = Statement(
        "plan_soon_on_disk", "SELECT set_config('synchronous_commit', 'off', true)")

    /// Locks the messages that no other transaction has locked, and returns them.
    static let lock = Statement(
        "plan_lock", "SELECT id FROM messages WHERE id = ANY (:messages) FOR NO KEY UPDATE SKIP LOCKED")

    /// Counts a slice of each message: its members in parcels, and those that ended at once. Returns their states.
    ///
    /// The audience is known when planning ends. If every parcel is gone by then, because its settle added its counts
    /// before, no settle will end the message.
    static let count = Statement(
        "plan_count",
        """
        UPDATE messages SET
            planned_members = planned_members + input.cut + input.early, members = members + input.early,
            rejected = messages.rejected + input.rejected, unregistered = messages.unregistered + input.unregistered,
            suppressed = messages.suppressed + input.suppressed,
            audience = CASE WHEN input.is_last THEN planned_members + input.cut + input.early END,
            state = CASE
                WHEN state = \(MessageState.cancelled.sql) THEN \(MessageState.cancelled.sql)
                WHEN input.is_last AND planned_members + input.cut = members THEN \(MessageState.finished.sql)
                WHEN state = \(MessageState.paused.sql) THEN \(MessageState.paused.sql)
                WHEN input.is_last THEN \(MessageState.sending.sql)
                ELSE \(MessageState.planning.sql) END,
            finished_at = CASE WHEN input.is_last AND state <> \(MessageState.cancelled.sql)
                AND planned_members + input.cut = members THEN coalesce(:now, clock_timestamp()) END
        FROM (
            SELECT *, rejected + unregistered + suppressed AS early
            FROM unnest(:messages, :members, :rejected, :unregistered, :suppressed, :are_last)
                AS each (message_id, cut, rejected, unregistered, suppressed, is_last)
        ) AS input
        WHERE id = input.message_id
        RETURNING id, state
        """)

    /// Writes parcels. The arrays have one element for each. A parcel is sent at its time, or without one at once. If
    /// that is past, it is due now, so that it doesn't come before other parcels that wait.
    ///
    /// Returns for each message and route of new parcels whether some are ready, and whether some are rate-limited.
    static let cut = Statement(
        "plan_cut",
        """
        WITH written AS (
            INSERT INTO parcels (message_id, app_id, route_id, format, service, priority, due_at, expires_at, members,
                member_count, pending, state)
            SELECT cut.message_id, cut.app_id, cut.route_id, cut.format, cut.service, cut.priority,
                greatest(cut.sent_at, coalesce(:now, clock_timestamp())), cut.expires_at, cut.members, cut.count,
                cut.count, \(ControlSQL.initialState(of: "cut.message_id"))
            FROM unnest(:messages, :apps, :formats, :priorities, :expiries, :routes, :members, :member_counts, :services,
                    :sent_at)
                AS cut (message_id, app_id, format, priority, expires_at, route_id, members, count, service, sent_at)
            RETURNING message_id, route_id,
                state = \(ParcelState.ready.sql) AND due_at <= coalesce(:now, clock_timestamp()) AS is_ready,
                state = \(ParcelState.rateLimited.sql) AS is_rate_limited
        ), reported AS (
            SELECT message_id, route_id, bool_or(is_ready) AS is_ready, bool_or(is_rate_limited) AS is_rate_limited
            FROM written GROUP BY message_id, route_id
        )
        SELECT n.message_id, n.route_id, n.is_ready, n.is_rate_limited, r.provider, r.environment, r.topic
        FROM reported n JOIN routes r ON r.id = n.route_id
        """)

    static let end = Statement("plan_end", "DELETE FROM plans WHERE message_id = ANY (:messages)")

    static let putAside = Statement(
        "plan_put_aside",
        """
        UPDATE plans SET planned_at = coalesce(:now, clock_timestamp()) + :delay_us * interval '1 microsecond'
        WHERE message_id = :message
        """)

    static let advance = Statement(
        "plan_advance",
        """
        UPDATE plans SET planned_through = :planned_through, planned_at = coalesce(:now, clock_timestamp()),
            slices = slices + 1
        WHERE message_id = :message
        """)

    /// Counts members that ended at once for their providers, as unregistered or suppressed: a member that was
    /// registered once counts for its provider too.
    static let providers = Statement(
        "plan_providers",
        """
        WITH ended AS (
            SELECT routes.provider, input.state, input.reason, sum(input.count)::bigint AS count
            FROM unnest(:counts, :routes, :states, :reasons) AS input (count, route_id, state, reason)
            JOIN routes ON routes.id = input.route_id GROUP BY routes.provider, input.state, input.reason
        ), reasons AS (
            INSERT INTO message_provider_reasons AS known (message_id, provider, state, reason, count)
            SELECT :message, provider, state, reason, count FROM ended ORDER BY provider, state, reason
            ON CONFLICT (message_id, provider, state, reason) DO UPDATE SET count = known.count + excluded.count
        )
        INSERT INTO message_providers AS known (message_id, provider, accepted, rejected, unregistered, expired,
            suppressed, cancelled, gave_up)
        SELECT :message, provider, 0, 0,
            coalesce(sum(count) FILTER (WHERE state = \(TerminalState.unregistered.sql)), 0), 0,
            coalesce(sum(count) FILTER (WHERE state = \(TerminalState.suppressed.sql)), 0), 0, 0
        FROM ended GROUP BY provider ORDER BY provider
        ON CONFLICT (message_id, provider) DO UPDATE SET unregistered = known.unregistered + excluded.unregistered,
            suppressed = known.suppressed + excluded.suppressed
        """)

    /// Writes early endings to the history. There they have parcel 0, and each slice is a settle of it. The settle's
    /// number is how many of the message's names were looked up before, or how many slices were cut. Route 0 means that
    /// the members are places in the message's audience, not registrations.
    static let cutReport = Statement(
        "plan_told",
        """
        INSERT INTO push_history (message_id, parcel_id, settle, place, route_id, state, reason, attempts, at,
            first_member, last_member, members, member_count)
        SELECT :message, 0, :settle, ended.place, ended.route_id, ended.state, ended.reason, 0,
            coalesce(:now, clock_timestamp()), ended.first_member, ended.last_member, ended.members, ended.count
        FROM unnest(:routes, :states, :reasons, :first_members, :last_members, :members, :member_counts) WITH ORDINALITY
            AS ended (route_id, state, reason, first_member, last_member, members, count, place)
        """)

    /// Adds to the reasons of a message. They come by rising state and reason, so that rows are locked in one order.
    static let reasons = Statement(
        "message_reasons_add",
        """
        INSERT INTO message_reasons (message_id, state, reason, count)
        SELECT :message, ended.state, ended.reason, ended.count
        FROM unnest(:states, :reasons, :counts) AS ended (state, reason, count)
        ON CONFLICT (message_id, state, reason) DO UPDATE SET count = message_reasons.count + excluded.count
        """)
}
