import Postgres

/// The one settle: a compare-and-set on (id, epoch, settles, leased). Everything else in the statement depends on the
/// row that it yields, so a fenced settle writes nothing.
enum SettleSQL {
    // Settle: $1 parcel, $2 epoch, $3 settles, $4..$10 new members of each terminal state, $11 handed over, $12 now.
    // Reasons: $13 states, $14 reasons, $15 counts. Remainders: $16 routes, $17 due after in microseconds,
    // $18 attempts, $19 lapses, $20 retry spent, $21 answer lost, $22 members, $23 member counts. Sample: $24 answered,
    // $25 suspected. Remainders too: $26 why they wait. History: $27 states, $28 reasons, $29 attempts, $30 first,
    // $31 last, $32 members, $33 member counts. Cross-environment remainders: $34 origin routes, $35 generations,
    // $36 reasons, $37 until when they wait, $38 from when the rejection counts. All remainders: $39 whether the badge
    // mark covers them, $40 when they are due; null: counted from the settle.
    private static let own = "id = $1 AND epoch = $2 AND settles = $3 AND state = 2"

    private static let created = """
        born AS (
            INSERT INTO parcels (message_id, app_id, route_id, format, service, priority, attempt, lapses, retry_spent,
                badge_marked, answer_lost, due_at, expires_at, members, member_count, pending, waits_for,
                origin_route_id, origin_generation, origin_reason, origin_until,
                origin_as_of, state)
            SELECT mine.message_id, mine.app_id, rest.route_id, mine.format, mine.service, mine.priority,
                rest.attempt, rest.lapses, rest.retry_spent,
                rest.is_counted AND mine.badge_marked, rest.answer_lost,
                coalesce(rest.due_at, coalesce($12, now()) + rest.due_after * interval '1 microsecond'), mine.expires_at,
                rest.members, rest.count, rest.count, rest.waits_for, rest.origin_route_id, rest.origin_generation,
                rest.origin_reason, rest.origin_until, rest.origin_as_of, \(ControlSQL.initialState(
                    of: "mine.message_id", lapses: "rest.lapses", origin: "rest.origin_route_id"))
            FROM mine CROSS JOIN unnest($16, $17, $18, $19, $20, $21, $22, $23, $26, $34, $35, $36, $37, $38, $39,
                $40)
                AS rest (route_id, due_after, attempt, lapses, retry_spent, answer_lost, members, count, waits_for,
                    origin_route_id, origin_generation, origin_reason, origin_until, origin_as_of, is_counted, due_at)
        )
        """

    /// - Parameter source: the row of the message, written before: message rows are locked before their reasons.
    private static func reasons(of source: String) -> String {
        """
        reasons AS (
            INSERT INTO message_reasons (message_id, state, reason, count)
            SELECT \(source).message_id, ended.state, ended.reason, ended.count
            FROM \(source) CROSS JOIN unnest($13, $14, $15) AS ended (state, reason, count)
            ON CONFLICT (message_id, state, reason) DO UPDATE SET count = message_reasons.count + excluded.count
        )
        """
    }

    /// - Parameter source: the parcel's row `mine`, with the message's row where that is written before.
    private static func providerReasons(of source: String) -> String {
        """
        provider_reasons AS (
            INSERT INTO message_provider_reasons AS known (message_id, provider, state, reason, count)
            SELECT mine.message_id, routes.provider, ended.state, ended.reason, ended.count
            FROM \(source) JOIN routes ON routes.id = mine.route_id
                CROSS JOIN unnest($13, $14, $15) AS ended (state, reason, count)
            ON CONFLICT (message_id, provider, state, reason) DO UPDATE SET count = known.count + excluded.count
        )
        """
    }

    // The row of the message is locked before: two settles of one message write one after the other.
    private static let providers = """
        providers AS (
            INSERT INTO message_providers AS known (message_id, provider, accepted, rejected, unregistered, expired,
                suppressed, cancelled, gave_up)
            SELECT mine.message_id, routes.provider, mine.accepted, mine.rejected, mine.unregistered, mine.expired,
                mine.suppressed, mine.cancelled, mine.gave_up
            FROM folded JOIN mine USING (message_id) JOIN routes ON routes.id = mine.route_id
            WHERE mine.ended > 0
            ON CONFLICT (message_id, provider) DO UPDATE SET accepted = known.accepted + excluded.accepted,
                rejected = known.rejected + excluded.rejected,
                unregistered = known.unregistered + excluded.unregistered,
                expired = known.expired + excluded.expired, suppressed = known.suppressed + excluded.suppressed,
                cancelled = known.cancelled + excluded.cancelled, gave_up = known.gave_up + excluded.gave_up
        )
        """

    /// - Parameter source: the same as for `providerReasons`.
    private static func rateLimited(of source: String) -> String {
        PaceSQL.counting(
            """
            SELECT mine.message_id, routes.provider, \(endedNow)
            FROM \(source) JOIN routes ON routes.id = mine.route_id WHERE \(endedNow) > 0
            """, now: "coalesce($12, now())")
    }

    private static let endedNow = "$4 + $5 + $6 + $7 + $8 + $9 + $10"

    // A route's answers count once, at the settle. In a cross-environment parcel they count for the origin route.
    private static let samples = """
        heard AS (
            INSERT INTO route_minutes (route_id, minute, answered, suspected)
            SELECT coalesce(mine.origin_route_id, mine.route_id), date_trunc('minute', coalesce($12, now())), $24, $25
            FROM mine
            WHERE $24 > 0 OR $25 > 0
            ON CONFLICT (route_id, minute) DO UPDATE SET answered = route_minutes.answered + excluded.answered,
                suspected = route_minutes.suspected + excluded.suspected
        )
        """

    private static let history = """
        told AS (
            INSERT INTO push_history (message_id, parcel_id, settle, place, route_id, state, reason, attempts, at,
                first_member, last_member, members, member_count)
            SELECT mine.message_id, $1, $3, did.place, mine.route_id, did.state, did.reason, did.attempts,
                coalesce($12, clock_timestamp()), did.first_member, did.last_member, did.members, did.count
            FROM mine CROSS JOIN unnest($27, $28, $29, $30, $31, $32, $33) WITH ORDINALITY
                AS did (state, reason, attempts, first_member, last_member, members, count, place)
        )
        """

    /// Settles a part: some members stay leased. $41 bitmap, $42 pending after.
    static let part = Statement(
        "parcel_settle_part",
        """
        WITH mine AS (
            UPDATE parcels SET settles = settles + 1, settled = $41, pending = $42, handed_over = handed_over + $11,
                accepted = accepted + $4, rejected = rejected + $5, unregistered = unregistered + $6,
                expired = expired + $7, suppressed = suppressed + $8, cancelled = cancelled + $9,
                gave_up = gave_up + $10
            WHERE \(own)
            RETURNING message_id, app_id, route_id, origin_route_id, format, service, priority, badge_marked, expires_at
        ), \(created), \(reasons(of: "mine")), \(providerReasons(of: "mine")),
            \(rateLimited(of: "mine")), \(samples), \(history)
        SELECT count(*) FROM mine
        """)

    /// Settles the last pending members. The parcel is deleted, and its counts are added to its message, which ends
    /// with its last member.
    ///
    /// If two last settles of a message run at once, each changes both rows in one UPDATE. The second waits for the
    /// first and adds to what that one wrote. The sum is exact, so the one that completes it sees `audience`.
    static let whole = Statement(
        "parcel_settle_whole",
        """
        WITH mine AS (
            DELETE FROM parcels WHERE \(own)
            RETURNING message_id, app_id, route_id, origin_route_id, format, service, priority, badge_marked, expires_at,
                member_count - handed_over - $11 AS ended, accepted + $4 AS accepted, rejected + $5 AS rejected,
                unregistered + $6 AS unregistered, expired + $7 AS expired, suppressed + $8 AS suppressed,
                cancelled + $9 AS cancelled, gave_up + $10 AS gave_up
        ), folded AS (
            UPDATE messages m SET members = m.members + mine.ended, accepted = m.accepted + mine.accepted,
                rejected = m.rejected + mine.rejected, unregistered = m.unregistered + mine.unregistered,
                expired = m.expired + mine.expired, suppressed = m.suppressed + mine.suppressed,
                cancelled = m.cancelled + mine.cancelled, gave_up = m.gave_up + mine.gave_up,
                state = CASE WHEN m.audience = m.members + mine.ended AND m.state <> 7 THEN 6 ELSE m.state END,
                finished_at = CASE
                    WHEN m.audience = m.members + mine.ended AND m.state <> 7 THEN coalesce($12, clock_timestamp()) END
            FROM mine WHERE m.id = mine.message_id
            RETURNING m.id AS message_id, m.state <> 6 AS goes_on
        ), \(created), \(reasons(of: "folded")), \(providerReasons(of: "folded JOIN mine USING (message_id)")),
            \(providers), \(rateLimited(of: "mine JOIN folded ON folded.message_id = mine.message_id AND folded.goes_on")), \(samples), \(history)
        SELECT count(*) FROM mine
        """)

    static let status = Statement(
        "parcel_standing", "SELECT epoch, settles, state = 2 FROM parcels WHERE id = $1")
}
