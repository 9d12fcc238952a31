import Model
import Postgres
import QueueRules

/// The planner's statements: one slice is one transaction of three round trips, under `PlannerSQL.throughKeys`.
enum PlanSQL {
    // A parcel `p` of the message before: in the air, or about to be. What stands behind a route that can't send holds no
    // other route up, and on its own it is leased first all the same, since it has been due for longer. What is held waits
    // for a message that is paused, in whose turn nobody else goes; of one that is cancelled it is gone soon. What waits
    // for a rate is awaited as long as that moves on. $2 now.
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

    // Of an app's plans.
    private static let roundRobin = "ORDER BY priority, app_id, planned_at NULLS FIRST, message_id"
    private static let claimed = "message_id, planned_through, slices, planned_at"

    /// $1 known formats, $2 now; the apps that had their turn before: $3 of transactional messages, $4 of others; $5 whether
    /// others are asked for at all.
    /// Transactional first; of each sort the apps go in turn, from the one behind that, and of an app whoever waited
    /// longest. Who was put aside waits for its time, and who follows another message until that one's pushes have all had
    /// their first attempt, as far as they can be sent (`isAwaited`).
    ///
    /// Every column that changes comes from the locked row itself: a look at plans by its key beside it would see the
    /// statement's snapshot, and plan a slice twice.
    static let claim = Statement(
        "plan_claim",
        """
        WITH \(oneByOne(unless: nil)), turn AS MATERIALIZED (
            SELECT * FROM urgent UNION ALL SELECT * FROM urgent_again
            UNION ALL SELECT * FROM bulk UNION ALL SELECT * FROM bulk_again
        )
        \(rotation)
        """)

    /// - Parameter of: by whom nothing may have been taken.
    private static func oneByOne(unless of: String?) -> String {
        let before = of.map { "AND \(none($0)) " } ?? ""
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

    /// The same, but several transactional ones: $6 how many. One of each app in turn, then a second one of each, as if they
    /// were claimed one by one; of each app so many that all have a part. No app is asked that has none to plan now, and
    /// where others are at work on all that were asked, one is claimed as above.
    static let claimGroup = Statement(
        "plan_claim_group",
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
        ), \(oneByOne(unless: "taken")), turn AS MATERIALIZED (
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

    /// The way to the disk is not waited for: the lease of the first parcel waits, and what is committed before it is there
    /// then. A server that falls in between has the message and its plan still, whose slices are cut again. Not for what
    /// ends pushes, or a message: an ending that was told is never taken back.
    static let soonOnDisk = Statement("plan_soon_on_disk", "SELECT set_config('synchronous_commit', 'off', true)")

    /// $1 messages. Those that nobody else has locked; they are locked now.
    static let lockGroup = Statement(
        "plan_lock_group", "SELECT id FROM messages WHERE id = ANY ($1) FOR NO KEY UPDATE SKIP LOCKED")

    /// Of several: $1 messages, $2 members cut, $3 rejected, $4 unregistered and $5 suppressed at once, $6 now, $7 has
    /// planning ended. With their ids; see `count`.
    static let countGroup = Statement(
        "plan_count_group",
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

    /// $1 messages, $2 apps, $3 formats, $4 priorities, $5 when they expire, $6 now, $7 routes, $8 members, $9 their
    /// counts, $10 services: one of each a parcel.
    static let cutGroup = Statement(
        "plan_cut_group",
        announcing(
            """
            INSERT INTO parcels (message_id, app_id, route_id, format, service, priority, due_at, expires_at, members,
                member_count, pending, state)
            SELECT cut.message_id, cut.app_id, cut.route_id, cut.format, cut.service, cut.priority,
                coalesce($6, clock_timestamp()), cut.expires_at, cut.members, cut.count, cut.count, \(ControlSQL.initialState(of: "cut.message_id"))
            FROM unnest($1, $2, $3, $4, $5, $7, $8, $9, $10)
                AS cut (message_id, app_id, format, priority, expires_at, route_id, members, count, service)
            """))

    /// Each route of what was cut, for each message: whether some of it is ready, and whether some waits for its rate.
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
    static let endGroup = Statement("plan_end_group", "DELETE FROM plans WHERE message_id = ANY ($1)")

    /// $1 message, $2 now, $3 microseconds.
    static let putAside = Statement(
        "plan_put_aside",
        """
        UPDATE plans SET planned_at = coalesce($2, clock_timestamp()) + $3 * interval '1 microsecond'
        WHERE message_id = $1
        """)

    // $1 message, $2 app, $3 format, $4 priority, $5 as `expires` reads it, $6 now, $7 routes, $8 members, $9 their counts,
    // $10 service.
    private static func cut(_ name: String, _ lists: String, due: String, expires: String) -> Statement {
        Statement(
            name,
            announcing(
                """
                INSERT INTO parcels (message_id, app_id, route_id, format, service, priority, due_at, expires_at, members,
                    member_count, pending, state)
                SELECT $1, $2, cut.route_id, $3, $10, $4, \(due), \(expires), cut.members, cut.count, cut.count,
                    \(ControlSQL.initialState(of: "$1"))
                FROM \(lists)
                """))
    }

    /// $5 expires at.
    static let cut = cut(
        "plan_cut", "unnest($7, $8, $9) AS cut (route_id, members, count)", due: "coalesce($6, clock_timestamp())",
        expires: "$5")

    /// $5 lifetime in microseconds, $11 when each is sent: what should have been by now is due now, so that it doesn't stand
    /// before what others have waiting, and lives as long as if it had been.
    static let cutByInstants = cut(
        "plan_cut_by_instants", "unnest($7, $8, $9, $11) AS cut (route_id, members, count, sent_at)",
        due: "greatest(cut.sent_at, coalesce($6, clock_timestamp()))",
        expires: "cut.sent_at + $5 * interval '1 microsecond'")

    /// $1 message, $2 planned through, $3 now.
    static let advance = Statement(
        "plan_advance",
        """
        UPDATE plans SET planned_through = $2, planned_at = coalesce($3, clock_timestamp()), slices = slices + 1
        WHERE message_id = $1
        """)

    static let end = Statement("plan_end", "DELETE FROM plans WHERE message_id = $1")

    /// $1 message, $2 members cut, $3 rejected, $4 unregistered and $7 suppressed at once, $5 has planning ended, $6 now.
    ///
    /// The audience is known when planning ends. Where every parcel has gone by then (its settle folded its counts
    /// before us), nobody else will end the message.
    static let count = Statement(
        "plan_count",
        """
        UPDATE messages SET
            planned_members = planned_members + $2 + $3 + $4 + $7,
            members = members + $3 + $4 + $7, rejected = rejected + $3, unregistered = unregistered + $4,
            suppressed = suppressed + $7,
            audience = CASE WHEN $5 THEN planned_members + $2 + $3 + $4 + $7 END,
            state = CASE
                WHEN state = 7 THEN 7
                WHEN $5 AND planned_members + $2 = members THEN 6
                WHEN state = 5 THEN 5
                WHEN $5 THEN 4
                ELSE 3 END,
            finished_at = CASE
                WHEN $5 AND state <> 7 AND planned_members + $2 = members THEN coalesce($6, clock_timestamp()) END
        WHERE id = $1
        RETURNING state
        """)

    /// $1 message, $2 how many ended, $3 on which routes, $4 in which state: unregistered or suppressed, $5 why. Who was
    /// registered once counts for its provider too.
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

    /// $1 message, $2 how many of its names were looked up before, or slices cut, $3 now; $4 routes, $5 states, $6 reasons, $7 first,
    /// $8 last, $9 members, $10 member counts.
    ///
    /// In the history they have parcel 0, and each slice is a settle of it. Route 0: the members are places in the
    /// message's audience, not registrations.
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

    /// $1 message, then states, reasons and counts, ordered by state and reason: rows are locked in one order.
    static let reasons = Statement(
        "message_reasons_add",
        """
        INSERT INTO message_reasons (message_id, state, reason, count)
        SELECT $1, ended.state, ended.reason, ended.count
        FROM unnest($2, $3, $4) AS ended (state, reason, count)
        ON CONFLICT (message_id, state, reason) DO UPDATE SET count = message_reasons.count + excluded.count
        """)
}
