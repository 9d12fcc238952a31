import Postgres

/// The one settle: each settlement is a compare-and-set on (id, epoch, settles, leased). Everything else in the
/// statement depends on the rows that these yield, so a fenced settlement writes nothing.
///
/// It runs under `PlannerSQL.throughKeys`. Rows of a message that several settlements change are written once, because
/// a statement changes a row only once.
enum SettleSQL {
    // Settlements, each by its place: $1 parcels, $2 epochs, $3 settles, $4..$10 new members of each terminal state,
    // $11 answered, $12 suspected, $13 now. More of them: $14 how many are handed over, $15 bitmaps after, $16 pending
    // after, $17 the order in which they were handed in. Reasons: $18 places, $19 states, $20 reasons, $21 counts.
    // History: $22 places, $23 numbers, $24 states, $25 reasons, $26 attempts, $27 first, $28 last, $29 members,
    // $30 member counts. Remainders: $31 places, $32 routes, $33 due after in microseconds, $34 attempts, $35 lapses,
    // $36 retry spent, $37 answer lost, $38 members, $39 member counts. More of them: $40 why they wait, $41 whether
    // the badge mark covers them, $42 when they are due; null: counted from the settle. Cross-environment remainders:
    // $43 origin routes, $44 generations, $45 reasons, $46 until when they wait, $47 from when the rejection counts.
    private static let counts = [
        "accepted", "rejected", "unregistered", "expired", "suppressed", "cancelled", "gave_up",
    ]

    private static func listed(_ text: (String) -> String) -> String { counts.map(text).joined(separator: ", ") }

    private enum Scope {
        case any
        /// Each ends its parcel and leaves no remainder.
        case ending
    }

    // The cast keeps the planner from reading all leased parcels along the index of the leases.
    private static let own = """
        p.id = said.parcel AND p.epoch = said.epoch AND p.settles = said.settles AND p.state::integer = 2
        """

    private static let settled = """
        said.place, said.turn, p.id, said.settles, p.message_id, p.app_id, p.route_id, p.origin_route_id, p.format,
                p.service, p.priority, p.badge_marked, p.expires_at, said.answered, said.suspected,
                \(counts.map { "said.\($0)" }.joined(separator: " + ")) AS ended_now
        """

    // A parcel without pending members is deleted. Another one stays leased.
    private static func mine(_ scope: Scope) -> String {
        let part = """
            , part AS (
                UPDATE parcels p SET settles = p.settles + 1, settled = said.bits, pending = said.pending,
                    handed_over = p.handed_over + said.handed, \(listed { "\($0) = p.\($0) + said.\($0)" })
                FROM said WHERE \(own) AND said.pending > 0
                RETURNING \(settled)
            )
            """
        return """
            said AS MATERIALIZED (
                SELECT * FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $14, $15, $16, $17)
                    WITH ORDINALITY AS said (parcel, epoch, settles, \(listed { $0 }), answered, suspected, handed, bits,
                        pending, turn, place)
            ), whole AS (
                DELETE FROM parcels p USING said WHERE \(own) AND said.pending = 0
                RETURNING \(settled), p.member_count - p.handed_over - said.handed AS ended,
                    \(listed { "p.\($0) + said.\($0) AS \($0)" })
            )\(scope == .any ? part : ""), mine AS MATERIALIZED (
                SELECT \(columns) FROM whole \(scope == .any ? "UNION ALL SELECT \(columns) FROM part" : "")
            )
            """
    }

    private static let columns = """
        place, turn, id, settles, message_id, app_id, route_id, origin_route_id, format, service, priority,
                badge_marked, expires_at, answered, suspected, ended_now
        """

    // The order is that in which the settlements were handed in: for remainders of one hour, that is the order of their
    // leases.
    private static let created = """
        born AS (
            INSERT INTO parcels (message_id, app_id, route_id, format, service, priority, attempt, lapses, retry_spent,
                badge_marked, answer_lost, due_at, expires_at, members, member_count, pending, waits_for,
                origin_route_id, origin_generation, origin_reason, origin_until, origin_as_of, state)
            SELECT mine.message_id, mine.app_id, rest.route_id, mine.format, mine.service, mine.priority,
                rest.attempt, rest.lapses, rest.retry_spent, rest.is_counted AND mine.badge_marked, rest.answer_lost,
                coalesce(rest.due_at, coalesce($13, now()) + rest.due_after * interval '1 microsecond'), mine.expires_at,
                rest.members, rest.count, rest.count, rest.waits_for, rest.origin_route_id, rest.origin_generation,
                rest.origin_reason, rest.origin_until, rest.origin_as_of, \(ControlSQL.initialState(
                    of: "mine.message_id", lapses: "rest.lapses", origin: "rest.origin_route_id"))
            FROM unnest($31, $32, $33, $34, $35, $36, $37, $38, $39, $40, $41, $42, $43, $44, $45, $46, $47)
                WITH ORDINALITY AS rest (place, route_id, due_after, attempt, lapses, retry_spent, answer_lost, members,
                    count, waits_for, is_counted, due_at, origin_route_id, origin_generation, origin_reason,
                    origin_until, origin_as_of, number)
                JOIN mine USING (place)
            ORDER BY mine.turn, rest.number
        )
        """

    // A message ends with its last member. If two last settles of a message run at once, each changes both rows in one
    // UPDATE. The second waits for the first and adds to what that one wrote. The sum is exact, so the one that
    // completes it sees `audience`.
    private static let folded = """
        sums AS (
            SELECT message_id, sum(ended) AS ended, \(listed { "sum(\($0)) AS \($0)" })
            FROM whole GROUP BY message_id ORDER BY message_id
        ), folded AS (
            UPDATE messages m SET members = m.members + sums.ended, \(listed { "\($0) = m.\($0) + sums.\($0)" }),
                state = CASE WHEN m.audience = m.members + sums.ended AND m.state <> 7 THEN 6 ELSE m.state END,
                finished_at = CASE
                    WHEN m.audience = m.members + sums.ended AND m.state <> 7 THEN coalesce($13, clock_timestamp()) END
            FROM sums WHERE m.id = sums.message_id
            RETURNING m.id AS message_id, m.state <> 6 AS goes_on
        )
        """

    // The join makes the totals wait for the messages' rows, which every settle locks first. A part changes no message.
    private static let ended = """
        unnest($18, $19, $20, $21) AS ended (place, state, reason, count) JOIN mine USING (place)
            LEFT JOIN folded USING (message_id)
        """

    // Two settles of one message write its totals one after the other.
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
            SELECT message_id, routes.provider, \(listed { "sum(whole.\($0))" })
            FROM folded JOIN whole USING (message_id) JOIN routes ON routes.id = whole.route_id
            WHERE whole.ended > 0 GROUP BY 1, 2 ORDER BY 1, 2
            ON CONFLICT (message_id, provider) DO UPDATE SET \(listed { "\($0) = known.\($0) + excluded.\($0)" })
        )
        """

    private static let paces = PaceSQL.counting(
        """
        SELECT mine.message_id, routes.provider, sum(mine.ended_now)::bigint
        FROM mine LEFT JOIN folded ON folded.message_id = mine.message_id
            JOIN routes ON routes.id = mine.route_id
        WHERE mine.ended_now > 0 AND folded.goes_on IS NOT FALSE GROUP BY 1, 2 ORDER BY 1, 2
        """, now: "coalesce($13, now())")

    // A route's answers count once, at the settle. In a cross-environment parcel they count for the origin route.
    private static let feedback = """
        heard AS (
            INSERT INTO route_minutes AS known (route_id, minute, answered, suspected)
            SELECT coalesce(origin_route_id, route_id), date_trunc('minute', coalesce($13, now())), sum(answered)::bigint,
                sum(suspected)::bigint
            FROM mine WHERE answered > 0 OR suspected > 0 GROUP BY 1, 2 ORDER BY 1, 2
            ON CONFLICT (route_id, minute) DO UPDATE SET answered = known.answered + excluded.answered,
                suspected = known.suspected + excluded.suspected
        ), history AS (
            INSERT INTO push_history (message_id, parcel_id, settle, place, route_id, state, reason, attempts, at,
                first_member, last_member, members, member_count)
            SELECT mine.message_id, mine.id, mine.settles, did.number, mine.route_id, did.state, did.reason,
                did.attempts, coalesce($13, clock_timestamp()), did.first_member, did.last_member, did.members, did.count
            FROM unnest($22, $23, $24, $25, $26, $27, $28, $29, $30)
                AS did (place, number, state, reason, attempts, first_member, last_member, members, count)
                JOIN mine USING (place)
        )
        """

    /// Locks the rows of settlements, except those that others have locked. It returns the places of settlements with
    /// both rows locked, or whose parcel is gone. Parameters: $1 messages, $2 parcels.
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

    /// Returns the places of the settlements that were written.
    static let settle = settle("parcel_settle", .any)

    /// The same, for settlements that end their parcels and leave no remainders. Its last parameter is $30.
    ///
    /// Nearly all settles of single messages are such. They take a fifth less of the server's time, because it sets up
    /// two writes less for each call.
    static let ending = settle("parcel_settle_ending", .ending)

    private static func settle(_ name: String, _ scope: Scope) -> Statement {
        let born = scope == .any ? "\(created), " : ""
        return Statement(
            name, "WITH \(mine(scope)), \(folded), \(born)\(reasons), \(paces), \(feedback) SELECT place FROM mine")
    }

    /// The status of the parcels that still exist, by their places. Parameters: $1 parcels.
    static let status = Statement(
        "parcel_status",
        """
        SELECT asked.place, p.epoch, p.settles, p.state = 2
        FROM unnest($1) WITH ORDINALITY AS asked (parcel, place) JOIN parcels p ON p.id = asked.parcel
        """)
}
