import Postgres

/// Settles several parcels that end with it, in one statement. Each is a compare-and-set of its own, as in `SettleSQL`.
/// It runs under `PlannerSQL.throughKeys`. If some leave members behind until quiet hours end, `leavingSome` does it.
///
/// Rows of a message that several of them change are written once, because a statement changes a row only once.
enum SettleGroupSQL {
    // Settles, each by its place: $1 parcels, $2 epochs, $3 settles, $4..$10 new members of each terminal state,
    // $11 answered, $12 suspected, $13 now. Reasons: $14 places, $15 states, $16 reasons, $17 counts. History:
    // $18 places, $19 numbers, $20 states, $21 reasons, $22 attempts, $23 first, $24 last, $25 members, $26 member
    // counts. Settles with remainders too: $27 how many are handed over, $28 the order in which the settles were handed
    // in. Remainders, each by its settle's place: $29 places, $30 routes, $31 due after in microseconds, $32 attempts,
    // $33 lapses, $34 retry spent, $35 answer lost, $36 members, $37 member counts. More of them: $38 why they wait,
    // $39 whether the badge mark covers them, $40 when they are due.
    private static let counts = [
        "accepted", "rejected", "unregistered", "expired", "suppressed", "cancelled", "gave_up",
    ]

    private static func listed(_ text: (String) -> String) -> String { counts.map(text).joined(separator: ", ") }

    // The cast keeps the planner from reading all leased parcels along the index of the leases.
    private static func own(leavingSome: Bool) -> String {
        """
        said AS MATERIALIZED (
            SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12\(leavingSome ? ", $27, $28" : ""))
                WITH ORDINALITY AS said (parcel, epoch, settles, \(listed { $0 }), answered, suspected,
                    \(leavingSome ? "handed, turn, " : "")place)
        ), mine AS (
            DELETE FROM parcels p USING said
            WHERE p.id = said.parcel AND p.epoch = said.epoch AND p.settles = said.settles AND p.state::integer = 2
            RETURNING said.place, p.id, said.settles, p.message_id, p.route_id, p.origin_route_id,
                p.member_count - p.handed_over\(leavingSome ? " - said.handed" : "") AS ended,
                \(listed { "p.\($0) + said.\($0) AS \($0)" }), said.answered, said.suspected,
                \(counts.map { "said.\($0)" }.joined(separator: " + ")) AS ended_now
                \(leavingSome ? ", said.turn, p.app_id, p.format, p.service, p.priority, p.badge_marked, p.expires_at" : "")
        )
        """
    }

    // The same as in `SettleSQL`, without cross-environment remainders. The order is that in which the settles were
    // handed in: for remainders of one hour, that is the order of their leases.
    private static let created = """
        born AS (
            INSERT INTO parcels (message_id, app_id, route_id, format, service, priority, attempt, lapses, retry_spent,
                badge_marked, answer_lost, due_at, expires_at, members, member_count, pending, waits_for, state)
            SELECT mine.message_id, mine.app_id, rest.route_id, mine.format, mine.service, mine.priority,
                rest.attempt, rest.lapses, rest.retry_spent, rest.is_counted AND mine.badge_marked, rest.answer_lost,
                coalesce(rest.due_at, coalesce($13, now()) + rest.due_after * interval '1 microsecond'), mine.expires_at,
                rest.members, rest.count, rest.count, rest.waits_for,
                \(ControlSQL.initialState(of: "mine.message_id", lapses: "rest.lapses"))
            FROM unnest($29, $30, $31, $32, $33, $34, $35, $36, $37, $38, $39, $40) WITH ORDINALITY
                AS rest (place, route_id, due_after, attempt, lapses, retry_spent, answer_lost, members, count, waits_for,
                    is_counted, due_at, number)
                JOIN mine USING (place)
            ORDER BY mine.turn, rest.number
        )
        """

    // A message ends with its last member, as in `SettleSQL.whole`.
    private static let folded = """
        sums AS (
            SELECT message_id, sum(ended) AS ended, \(listed { "sum(\($0)) AS \($0)" })
            FROM mine GROUP BY message_id ORDER BY message_id
        ), folded AS (
            UPDATE messages m SET members = m.members + sums.ended, \(listed { "\($0) = m.\($0) + sums.\($0)" }),
                state = CASE WHEN m.audience = m.members + sums.ended AND m.state <> 7 THEN 6 ELSE m.state END,
                finished_at = CASE
                    WHEN m.audience = m.members + sums.ended AND m.state <> 7 THEN coalesce($13, clock_timestamp()) END
            FROM sums WHERE m.id = sums.message_id
            RETURNING m.id AS message_id, m.state <> 6 AS goes_on
        )
        """

    // The rows of the messages are locked already.
    private static let ended = """
        unnest($14, $15, $16, $17) AS ended (place, state, reason, count) JOIN mine USING (place)
            JOIN folded USING (message_id)
        """

    private static let reasons = """
        reasons AS (
            INSERT INTO message_reasons AS known (message_id, state, reason, count)
            SELECT message_id, ended.state, ended.reason, sum(ended.count)::bigint FROM \(ended)
            GROUP BY 1, 2, 3 ORDER BY 1, 2, ended.reason COLLATE "C"
            ON CONFLICT (message_id, state, reason) DO UPDATE SET count = known.count + excluded.count
        ), provider_reasons AS (
            INSERT INTO message_provider_reasons AS known (message_id, provider, state, reason, count)
            SELECT message_id, routes.provider, ended.state, ended.reason, sum(ended.count)::bigint
            FROM \(ended) JOIN routes ON routes.id = mine.route_id
            GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, ended.reason COLLATE "C"
            ON CONFLICT (message_id, provider, state, reason) DO UPDATE SET count = known.count + excluded.count
        ), providers AS (
            INSERT INTO message_providers AS known (message_id, provider, \(listed { $0 }))
            SELECT message_id, routes.provider, \(listed { "sum(mine.\($0))" })
            FROM folded JOIN mine USING (message_id) JOIN routes ON routes.id = mine.route_id
            WHERE mine.ended > 0 GROUP BY 1, 2 ORDER BY 1, 2
            ON CONFLICT (message_id, provider) DO UPDATE SET \(listed { "\($0) = known.\($0) + excluded.\($0)" })
        )
        """

    private static let rateLimited = PaceSQL.counting(
        """
        SELECT mine.message_id, routes.provider, sum(mine.ended_now)::bigint
        FROM mine JOIN folded ON folded.message_id = mine.message_id AND folded.goes_on
            JOIN routes ON routes.id = mine.route_id
        WHERE mine.ended_now > 0 GROUP BY 1, 2 ORDER BY 1, 2
        """, now: "coalesce($13, now())")

    private static let feedback = """
        heard AS (
            INSERT INTO route_minutes AS known (route_id, minute, answered, suspected)
            SELECT coalesce(origin_route_id, route_id), date_trunc('minute', coalesce($13, now())), sum(answered)::bigint,
                sum(suspected)::bigint
            FROM mine WHERE answered > 0 OR suspected > 0 GROUP BY 1, 2 ORDER BY 1, 2
            ON CONFLICT (route_id, minute) DO UPDATE SET answered = known.answered + excluded.answered,
                suspected = known.suspected + excluded.suspected
        ), told AS (
            INSERT INTO push_history (message_id, parcel_id, settle, place, route_id, state, reason, attempts, at,
                first_member, last_member, members, member_count)
            SELECT mine.message_id, mine.id, mine.settles, did.number, mine.route_id, did.state, did.reason,
                did.attempts, coalesce($13, clock_timestamp()), did.first_member, did.last_member, did.members, did.count
            FROM unnest($18, $19, $20, $21, $22, $23, $24, $25, $26)
                AS did (place, number, state, reason, attempts, first_member, last_member, members, count)
                JOIN mine USING (place)
        )
        """

    /// Locks the rows of settles, except those that others have locked. It returns the places of settles with both rows
    /// locked, or whose parcel is gone. Parameters: $1 messages, $2 parcels.
    static let lock = Statement(
        "parcel_settle_lock",
        """
        WITH said AS MATERIALIZED (
            SELECT * FROM unnest($1, $2) WITH ORDINALITY AS said (message_id, parcel, place)
        ), open AS MATERIALIZED (
            SELECT m.id FROM said JOIN messages m ON m.id = said.message_id FOR NO KEY UPDATE OF m SKIP LOCKED
        ), mine AS MATERIALIZED (
            SELECT p.id FROM said JOIN parcels p ON p.id = said.parcel FOR UPDATE OF p SKIP LOCKED
        )
        SELECT place FROM said
        WHERE message_id IN (SELECT id FROM open) AND parcel IN (SELECT id FROM mine)
            OR (SELECT true FROM parcels p WHERE p.id = said.parcel LIMIT 1) IS NULL
        """)

    /// Settles without remainders; returns the places of those that were settled.
    static let whole = Statement(
        "parcel_settle_group",
        "WITH \(own(leavingSome: false)), \(folded), \(reasons), \(rateLimited), \(feedback) SELECT place FROM mine")

    /// Settles that leave remainders; returns the places of those that were settled.
    static let leavingSome = Statement(
        "parcel_settle_group_leaving",
        "WITH \(own(leavingSome: true)), \(folded), \(created), \(reasons), \(rateLimited), \(feedback) SELECT place FROM mine"
    )

    /// The status of the parcels that still exist, by their places. Parameters: $1 parcels.
    static let status = Statement(
        "parcel_standing_group",
        """
        SELECT asked.place, p.epoch, p.settles, p.state = 2
        FROM unnest($1) WITH ORDINALITY AS asked (parcel, place) JOIN parcels p ON p.id = asked.parcel
        """)
}
