import Model
import Postgres
import QueueRules

/// The planner's statements: one slice is one transaction of three round trips, under `PlannerSQL.throughKeys`.
enum PlanSQL {
    // A parcel `p` of the predecessor that is leased or will be leased soon. A parcel that can't be sent now is not
    // awaited, since it would hold up other routes. On its own route it is leased first all the same, because it has
    // been due for longer. A parcel on hold is awaited: its message is paused, or cancelled and soon gone. A
    // rate-limited one is awaited as long as its rate moves on. $2 now.
    private static let isAwaited = """
        p.attempt = 0 AND (p.state IN (2, 3) OR p.state = 4 AND EXISTS (
            SELECT FROM message_rates b WHERE b.message_id = p.message_id
                AND b.next_at > coalesce($2, clock_timestamp()) - interval '10 seconds'
        ) OR p.state = 1 AND (p.due_at > coalesce($2, clock_timestamp()) - interval '10 seconds'
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
        return """
            urgent AS MATERIALIZED (
                \(first(of: urgent, "app_id > $3 \(before)"))
            ), urgent_again AS MATERIALIZED (
                \(first(of: urgent, "app_id <= $3 \(before)AND \(none("urgent"))"))
            ), bulk AS MATERIALIZED (
                \(first(of: bulk, "$5 AND app_id > $4 \(before)AND \(none("urgent")) AND \(none("urgent_again"))"))
            ), bulk_again AS MATERIALIZED (
                \(first(of: bulk, "$5 AND app_id <= $4 \(before)AND \(none("urgent")) AND \(none("urgent_again")) AND \(none("bulk"))"))
            )
            """
    }

    private static func none(_ of: String) -> String { "NOT EXISTS (SELECT FROM \(of))" }

    private static func first(of urgency: MessageUrgency, _ which: String) -> String {
        """
        SELECT \(claimed) FROM plans WHERE priority = \(urgency.rawValue) AND \(which) AND \(isReady)
            \(roundRobin) LIMIT 1 FOR UPDATE SKIP LOCKED
        """
    }

    /// Claims the next plans: several transactional ones, or one of any urgency. Parameters: $1 known formats, $2 now.
    /// The apps that had a slot last: $3 for transactional messages, $4 for others; $5 whether others are asked for at
    /// all; $6 how many.
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
            SELECT (\(nextApp("app_id > $3"))) AS app, 1 AS place
            UNION ALL
            SELECT (\(nextApp("app_id > ahead.app"))), place + 1
            FROM ahead WHERE app IS NOT NULL AND place < \(MessageStore.plannedTogetherMax)
        ), again AS (
            SELECT (\(nextApp("app_id <= $3"))) AS app, 1 AS place
            UNION ALL
            SELECT (\(nextApp("app_id > again.app AND app_id <= $3"))), place + 1
            FROM again WHERE app IS NOT NULL AND place < \(MessageStore.plannedTogetherMax)
        ), round AS MATERIALIZED (
            SELECT app, row_number() OVER (ORDER BY lap, place) AS place FROM (
                SELECT app, place, 1 AS lap FROM ahead UNION ALL SELECT app, place, 2 FROM again
            ) AS apps
            WHERE app IS NOT NULL ORDER BY lap, apps.place LIMIT least($6, \(MessageStore.plannedTogetherMax))
        ), taken AS MATERIALIZED (
            SELECT mine.*, round.place AS app_place,
                row_number() OVER (PARTITION BY round.place ORDER BY mine.planned_at NULLS FIRST, mine.message_id) AS lap
            FROM round CROSS JOIN LATERAL (
                SELECT \(claimed) FROM plans
                WHERE priority = \(MessageUrgency.transactional.rawValue) AND app_id = round.app AND \(isReady)
                \(roundRobin) LIMIT greatest(1, $6 / (SELECT count(*) FROM round)) FOR UPDATE SKIP LOCKED
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
        SELECT app_id FROM plans WHERE priority = \(MessageUrgency.transactional.rawValue) AND \(which) AND \(isReady)
        ORDER BY priority, app_id LIMIT 1
        """
    }

    // $1 known formats, $2 now.
    private static let isReady = """
        format = ANY ($1) AND (planned_at <= coalesce($2, clock_timestamp())) IS NOT FALSE
            AND (after_message IS NULL OR (
                (SELECT before.message_id FROM plans before WHERE before.message_id = plans.after_message) IS NULL
                AND NOT EXISTS (
                    SELECT 1 FROM parcels p WHERE p.message_id = plans.after_message AND \(isAwaited))))
        """

    private static let rotation = """
        SELECT turn.message_id, turn.planned_through, m.app_id, m.format, m.priority, m.kind, m.horizon, m.expires_at,
            c.audience, coalesce(m.due_at, m.accepted_at), m.accepted_at, m.local_hour AT TIME ZONE 'UTC',
            m.late_at_once, turn.slices, m.push_type
        FROM turn JOIN messages m ON m.id = turn.message_id
        LEFT JOIN message_contents c ON c.message_id = turn.message_id
        """

    /// Lets the transaction commit without waiting for the disk: the lease of the first parcel waits, and that makes
    /// earlier commits durable. If the server crashes in between, it still has the message and its plan, and the slices
    /// are cut again. It is not used where pushes or a message end: a terminal state that was reported is never taken
    /// back.
    static let soonOnDisk = Statement("plan_soon_on_disk", "SELECT set_config('synchronous_commit', 'off', true)")

    /// Locks the messages that no other transaction has locked, and returns them. Parameters: $1 messages.
    static let lock = Statement(
        "plan_lock", "SELECT id FROM messages WHERE id = ANY ($1) FOR NO KEY UPDATE SKIP LOCKED")

    /// Counts a slice of each message, and returns their states with their ids. Parameters: $1 messages, $2 members cut,
    /// $3 rejected, $4 unregistered and $5 suppressed at once, $6 now, $7 whether planning has ended.
    ///
    /// The audience is known when planning ends. If every parcel is gone by then, because its settle added its counts
    /// before, no settle will end the message.
    static let count = Statement(
        "plan_count",
        """
        UPDATE messages SET
            planned_members = planned_members + said.cut + said.early, members = members + said.early,
            rejected = messages.rejected + said.rejected, unregistered = messages.unregistered + said.unregistered,
            suppressed = messages.suppressed + said.suppressed,
            audience = CASE WHEN said.is_last THEN planned_members + said.cut + said.early END,
            state = CASE
                WHEN state = 7 THEN 7
                WHEN said.is_last AND planned_members + said.cut = members THEN 6
                WHEN state = 5 THEN 5
                WHEN said.is_last THEN 4
                ELSE 3 END,
            finished_at = CASE WHEN said.is_last AND state <> 7 AND planned_members + said.cut = members
                THEN coalesce($6, clock_timestamp()) END
        FROM (
            SELECT *, rejected + unregistered + suppressed AS early
            FROM unnest($1, $2, $3, $4, $5, $7) AS each (message_id, cut, rejected, unregistered, suppressed, is_last)
        ) AS said
        WHERE id = said.message_id
        RETURNING state, id
        """)

    /// Writes parcels. Parameters: $1 messages, $2 apps, $3 formats, $4 priorities, $5 when they expire, $6 now,
    /// $7 routes, $8 members, $9 their counts, $10 services. The arrays have one element for each parcel. $11 is when
    /// each is sent; null: at once. A parcel whose time is past is due now, so that it doesn't come before other parcels
    /// that wait.
    static let cut = Statement(
        "plan_cut",
        announcing(
            """
            INSERT INTO parcels (message_id, app_id, route_id, format, service, priority, due_at, expires_at, members,
                member_count, pending, state)
            SELECT cut.message_id, cut.app_id, cut.route_id, cut.format, cut.service, cut.priority,
                greatest(cut.sent_at, coalesce($6, clock_timestamp())), cut.expires_at, cut.members, cut.count,
                cut.count, \(ControlSQL.initialState(of: "cut.message_id"))
            FROM unnest($1, $2, $3, $4, $5, $7, $8, $9, $10, $11)
                AS cut (message_id, app_id, format, priority, expires_at, route_id, members, count, service, sent_at)
            """))

    /// Returns for each message and route of new parcels whether some are ready, and whether some are rate-limited.
    private static func announcing(_ insert: String) -> String {
        """
        WITH written AS (
            \(insert)
            RETURNING message_id, route_id, state = 1 AND due_at <= coalesce($6, clock_timestamp()) AS is_ready,
                state = 4 AS is_paced
        ), told AS (
            SELECT message_id, route_id, bool_or(is_ready) AS is_ready, bool_or(is_paced) AS is_paced
            FROM written GROUP BY message_id, route_id
        )
        SELECT told.message_id, told.route_id, told.is_ready, told.is_paced, r.provider, r.environment, r.topic
        FROM told JOIN routes r ON r.id = told.route_id
        """
    }

    /// $1 messages.
    static let end = Statement("plan_end", "DELETE FROM plans WHERE message_id = ANY ($1)")

    /// $1 message, $2 now, $3 microseconds.
    static let putAside = Statement(
        "plan_put_aside",
        """
        UPDATE plans SET planned_at = coalesce($2, clock_timestamp()) + $3 * interval '1 microsecond'
        WHERE message_id = $1
        """)

    /// $1 message, $2 planned through, $3 now.
    static let advance = Statement(
        "plan_advance",
        """
        UPDATE plans SET planned_through = $2, planned_at = coalesce($3, clock_timestamp()), slices = slices + 1
        WHERE message_id = $1
        """)

    /// Counts members that ended at once for their providers: a member that was registered once counts for its provider
    /// too. Parameters: $1 message, $2 how many ended, $3 on which routes, $4 in which state (unregistered or
    /// suppressed), $5 why.
    static let providers = Statement(
        "plan_providers",
        """
        WITH ended AS (
            SELECT routes.provider, said.state, said.reason, sum(said.count)::bigint AS count
            FROM unnest($2, $3, $4, $5) AS said (count, route_id, state, reason)
            JOIN routes ON routes.id = said.route_id GROUP BY routes.provider, said.state, said.reason
        ), reasons AS (
            INSERT INTO message_provider_reasons AS known (message_id, provider, state, reason, count)
            SELECT $1, provider, state, reason, count FROM ended ORDER BY provider, state, reason
            ON CONFLICT (message_id, provider, state, reason) DO UPDATE SET count = known.count + excluded.count
        )
        INSERT INTO message_providers AS known (message_id, provider, accepted, rejected, unregistered, expired,
            suppressed, cancelled, gave_up)
        SELECT $1, provider, 0, 0, coalesce(sum(count) FILTER (WHERE state = 3), 0), 0,
            coalesce(sum(count) FILTER (WHERE state = 5), 0), 0, 0
        FROM ended GROUP BY provider ORDER BY provider
        ON CONFLICT (message_id, provider) DO UPDATE SET unregistered = known.unregistered + excluded.unregistered,
            suppressed = known.suppressed + excluded.suppressed
        """)

    /// Writes early endings to the history. Parameters: $1 message, $2 how many of its names were looked up before, or
    /// slices cut, $3 now. Entries: $4 routes, $5 states, $6 reasons, $7 first, $8 last, $9 members, $10 member counts.
    ///
    /// In the history they have parcel 0, and each slice is a settle of it. Route 0 means that the members are places
    /// in the message's audience, not registrations.
    static let cutReport = Statement(
        "plan_told",
        """
        INSERT INTO push_history (message_id, parcel_id, settle, place, route_id, state, reason, attempts, at,
            first_member, last_member, members, member_count)
        SELECT $1, 0, $2, did.place, did.route_id, did.state, did.reason, 0, coalesce($3, clock_timestamp()),
            did.first_member, did.last_member, did.members, did.count
        FROM unnest($4, $5, $6, $7, $8, $9, $10) WITH ORDINALITY
            AS did (route_id, state, reason, first_member, last_member, members, count, place)
        """)

    /// $1 message, then states, reasons and counts, ordered by state and reason, so that rows are locked in one order.
    static let reasons = Statement(
        "message_reasons_add",
        """
        INSERT INTO message_reasons (message_id, state, reason, count)
        SELECT $1, ended.state, ended.reason, ended.count
        FROM unnest($2, $3, $4) AS ended (state, reason, count)
        ON CONFLICT (message_id, state, reason) DO UPDATE SET count = message_reasons.count + excluded.count
        """)
}
