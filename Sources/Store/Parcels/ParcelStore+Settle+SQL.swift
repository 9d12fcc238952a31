import Model
import Postgres

/// The one settle: each settlement is a compare-and-set on (id, epoch, settles, leased). Everything else in the
/// statement depends on the rows that these yield, so a fenced settlement writes nothing.
///
/// It runs under `PlannerSQL.throughKeys`. Rows of a message that several settlements change are written once, because
/// a statement changes a row only once.
enum SettleSQL {
    private static let counts = TerminalState.allCases.map(\.name)

    private static func listed(_ text: (String) -> String) -> String { counts.map(text).joined(separator: ", ") }

    private enum Scope {
        case any
        /// Each ends its parcel and leaves no remainder.
        case ending
    }

    // The cast keeps the planner from reading all leased parcels along the index of the leases.
    private static let own = """
        p.id = input.parcel AND p.epoch = input.epoch AND p.settles = input.settles
                    AND p.state::integer = \(ParcelState.leased.sql)
        """

    private static let settled = """
        input.place, input.turn, p.message_id, p.app_id, p.route_id, p.origin_route_id, p.format,
                p.service, p.priority, p.badge_marked, input.badge_set, p.waits_for, p.waits_since, p.expires_at,
                input.answered, input.suspected, \(counts.map { "input.\($0)" }.joined(separator: " + ")) AS ended_now
        """

    // A parcel without pending members is deleted. Another one stays leased.
    private static func mine(_ scope: Scope) -> String {
        let part = """
            , part AS (
                UPDATE parcels p SET settles = p.settles + 1, settled = input.bits, pending = input.pending,
                    handed_over = p.handed_over + input.handed, \(listed { "\($0) = p.\($0) + input.\($0)" })
                FROM input WHERE \(own) AND input.pending > 0
                RETURNING \(settled)
            )
            """
        return """
            input AS MATERIALIZED (
                SELECT * FROM unnest(:parcels, :epochs, :settles, \(listed { ":\($0)" }), :answered, :suspected,
                        :handed, :bits, :pending, :turns, :badge_sets)
                    WITH ORDINALITY AS input (parcel, epoch, settles, \(listed { $0 }), answered, suspected, handed,
                        bits, pending, turn, badge_set, place)
            ), whole AS (
                DELETE FROM parcels p USING input WHERE \(own) AND input.pending = 0
                RETURNING \(settled), p.member_count - p.handed_over - input.handed AS ended,
                    \(listed { "p.\($0) + input.\($0) AS \($0)" })
            )\(scope == .any ? part : ""), mine AS MATERIALIZED (
                SELECT \(columns) FROM whole \(scope == .any ? "UNION ALL SELECT \(columns) FROM part" : "")
            )
            """
    }

    private static let columns = """
        place, turn, message_id, app_id, route_id, origin_route_id, format, service, priority,
                badge_marked, badge_set, waits_for, waits_since, expires_at, answered, suspected, ended_now
        """

    // The order is that in which the settlements were handed in: for remainders of one hour, that is the order of their
    // leases.
    private static let created = """
        created AS (
            INSERT INTO parcels (message_id, app_id, route_id, format, service, priority, attempt, lapses, retry_spent,
                badge_marked, badge_set, answer_lost, due_at, expires_at, members, member_count, pending, waits_for,
                wait_quote, waits_since, origin_route_id, origin_generation, origin_reason, origin_until, origin_as_of, state)
            SELECT mine.message_id, mine.app_id, remainder.route_id, mine.format, mine.service, mine.priority,
                remainder.attempt, remainder.lapses, remainder.retry_spent, remainder.is_counted AND mine.badge_marked,
                CASE WHEN remainder.is_counted AND mine.badge_marked THEN mine.badge_set END, remainder.answer_lost,
                coalesce(remainder.due_at, \(now) + remainder.due_after * interval '1 microsecond'), mine.expires_at,
                remainder.members, remainder.count, remainder.count, remainder.waits_for,
                nullif(remainder.wait_quote, ''),
                CASE WHEN mine.waits_for = remainder.waits_for THEN mine.waits_since ELSE \(now) END,
                remainder.origin_route_id, remainder.origin_generation, remainder.origin_reason, remainder.origin_until,
                remainder.origin_as_of, \(ControlSQL.initialState(
                    of: "mine.message_id", lapses: "remainder.lapses", origin: "remainder.origin_route_id"))
            FROM unnest(:remainder_places, :routes, :due_after_us, :attempts, :lapses, :retry_spent_us, :answer_lost,
                    :members, :member_counts, :wait_causes, :wait_quotes, :are_counted, :due_at, :origin_routes,
                    :origin_generations, :origin_reasons, :origin_until, :origin_as_of)
                WITH ORDINALITY AS remainder (place, route_id, due_after, attempt, lapses, retry_spent, answer_lost,
                    members, count, waits_for, wait_quote, is_counted, due_at, origin_route_id, origin_generation,
                    origin_reason, origin_until, origin_as_of, number)
                JOIN mine USING (place)
            ORDER BY mine.turn, remainder.number
        )
        """

    private static let now = "coalesce(:now, now())"

    private static let isLast = "m.audience = m.members + sums.ended AND m.state <> \(MessageState.cancelled.sql)"

    // A message ends with its last member. If two last settles of a message run at once, each changes both rows in one
    // UPDATE. The second waits for the first and adds to what that one wrote. The sum is exact, so the one that
    // completes it sees `audience`.
    private static let folded = """
        sums AS (
            SELECT message_id, sum(ended) AS ended, \(listed { "sum(\($0)) AS \($0)" })
            FROM whole GROUP BY message_id ORDER BY message_id
        ), folded AS (
            UPDATE messages m SET members = m.members + sums.ended, \(listed { "\($0) = m.\($0) + sums.\($0)" }),
                state = CASE WHEN \(isLast) THEN \(MessageState.finished.sql) ELSE m.state END,
                finished_at = CASE WHEN \(isLast) THEN coalesce(:now, clock_timestamp()) END
            FROM sums WHERE m.id = sums.message_id
            RETURNING m.id AS message_id, m.state <> \(MessageState.finished.sql) AS goes_on
        )
        """

    // Whether a settlement was written, by its place. A join of two lists would compare all with all here
    // (`PlannerSQL.throughKeys`). `IS TRUE` keeps PostgreSQL from making one: it looks the place up in a hash table.
    private static func isMine(_ place: String) -> String { "(\(place) IN (SELECT place FROM mine)) IS TRUE" }

    private static let ended = """
        unnest(:ended_places, :ended_messages, :ended_routes, :ended_states, :ended_reasons, :ended_counts,
                    :ended_details)
                AS ended (place, message_id, route_id, state, reason, count, detail)
        """
    // Counting `folded` makes the totals wait for the messages' rows, which every settle locks first.
    private static let isEnded = "\(isMine("ended.place")) AND (SELECT count(*) FROM folded) >= 0"

    // Two settles of one message write its totals one after the other.
    private static let reasons = """
        reasons AS (
            INSERT INTO message_reasons AS known (message_id, state, reason, count, detail)
            SELECT message_id, ended.state, ended.reason, sum(ended.count)::bigint, max(ended.detail)
            FROM \(ended) WHERE \(isEnded)
            GROUP BY 1, 2, 3 ORDER BY 1, 2, ended.reason COLLATE "C"
            ON CONFLICT (message_id, state, reason) DO UPDATE SET count = known.count + excluded.count,
                detail = coalesce(known.detail, excluded.detail)
        ), provider_reasons AS (
            INSERT INTO message_provider_reasons AS known (message_id, provider, state, reason, count)
            SELECT message_id, routes.provider, ended.state, ended.reason, sum(ended.count)::bigint
            FROM \(ended) JOIN routes ON routes.id = ended.route_id WHERE \(isEnded)
            GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, ended.reason COLLATE "C"
            ON CONFLICT (message_id, provider, state, reason) DO UPDATE SET count = known.count + excluded.count
        ), providers AS (
            INSERT INTO message_providers AS known (message_id, provider, \(listed { $0 }))
            SELECT message_id, routes.provider, \(listed { "sum(whole.\($0))" })
            FROM whole JOIN routes ON routes.id = whole.route_id
            WHERE whole.ended > 0 AND (message_id IN (SELECT message_id FROM folded)) IS TRUE GROUP BY 1, 2 ORDER BY 1, 2
            ON CONFLICT (message_id, provider) DO UPDATE SET \(listed { "\($0) = known.\($0) + excluded.\($0)" })
        )
        """

    private static let paces = PaceSQL.counting(
        """
        SELECT mine.message_id, routes.provider, sum(mine.ended_now)::bigint
        FROM mine JOIN routes ON routes.id = mine.route_id
        WHERE mine.ended_now > 0
            AND (mine.message_id IN (SELECT message_id FROM folded WHERE NOT goes_on)) IS NOT TRUE
        GROUP BY 1, 2 ORDER BY 1, 2
        """, now: now)

    // A route's answers count once, at the settle. In a cross-environment parcel they count for the origin route.
    private static let feedback = """
        answers AS (
            INSERT INTO route_minutes AS known (route_id, minute, answered, suspected)
            SELECT coalesce(origin_route_id, route_id), date_trunc('minute', \(now)), sum(answered)::bigint,
                sum(suspected)::bigint
            FROM mine WHERE answered > 0 OR suspected > 0 GROUP BY 1, 2 ORDER BY 1, 2
            ON CONFLICT (route_id, minute) DO UPDATE SET answered = known.answered + excluded.answered,
                suspected = known.suspected + excluded.suspected
        ), history AS (
            INSERT INTO push_history (message_id, parcel_id, settle, place, route_id, state, reason, attempts, at,
                first_member, last_member, members, member_count)
            SELECT event.message_id, event.parcel, event.settle, event.number, event.route_id, event.state,
                event.reason, event.attempts, coalesce(:now, clock_timestamp()), event.first_member,
                event.last_member, event.members, event.count
            FROM unnest(:event_places, :event_messages, :event_parcels, :event_settles, :event_routes, :event_numbers,
                    :event_states, :event_reasons, :event_attempts, :event_first_members, :event_last_members,
                    :event_members, :event_member_counts)
                AS event (place, message_id, parcel, settle, route_id, number, state, reason, attempts, first_member,
                    last_member, members, count)
            WHERE \(isMine("event.place"))
        )
        """

    // The increments that came after the badge's last set. Another process may set it until the row is locked.
    private static let increments = """
        least(p.raised, (SELECT count(*)::integer FROM unnest(back.sets) AS one (badge_set)
                    WHERE one.badge_set >= p.badge_set))
        """

    // A badge that was set since the increment keeps its value, and what other messages added to it.
    private static let takenBack = """
        taken AS (
            UPDATE registration_pulse p SET badge = p.badge - \(increments), raised = p.raised - \(increments)
            FROM (
                SELECT member AS id, array_agg(badge_set) AS sets
                FROM unnest(:taken_places, :taken_members, :taken_sets) AS unshown (place, member, badge_set)
                WHERE \(isMine("unshown.place")) GROUP BY member ORDER BY member
            ) AS back WHERE p.registration_id = back.id
        )
        """

    /// Locks the rows of settlements, except those that others have locked. It returns the places of settlements with
    /// both rows locked, or whose parcel is gone.
    static let lock = Statement(
        "parcel_settle_lock",
        """
        WITH input AS MATERIALIZED (
            SELECT * FROM unnest(:messages, :parcels) WITH ORDINALITY AS input (message_id, parcel, place)
        ), open AS MATERIALIZED (
            SELECT m.id FROM input JOIN messages m ON m.id = input.message_id FOR NO KEY UPDATE OF m SKIP LOCKED
        ), mine AS MATERIALIZED (
            SELECT p.id FROM input JOIN parcels p ON p.id = input.parcel FOR UPDATE OF p SKIP LOCKED
        )
        SELECT place FROM input
        WHERE message_id IN (SELECT id FROM open) AND parcel IN (SELECT id FROM mine)
            OR (SELECT true FROM parcels p WHERE p.id = input.parcel LIMIT 1) IS NULL
        """)

    /// Returns the places of the settlements that were written.
    static let settle = settle("parcel_settle", .any)

    /// The same, for settlements that end their parcels, leave no remainders and take no badge back.
    ///
    /// Nearly all settles of single messages are such. They take a fifth less of the server's time, because it sets up
    /// three writes less for each call.
    static let ending = settle("parcel_settle_ending", .ending)

    private static func settle(_ name: String, _ scope: Scope) -> Statement {
        let remainders = scope == .any ? "\(created), " : ""
        let badges = scope == .any ? ", \(takenBack)" : ""
        return Statement(
            name,
            """
            WITH \(mine(scope)), \(folded), \(remainders)\(reasons), \(paces), \(feedback)\(badges)
            SELECT place FROM mine
            """)
    }

    /// The status of the parcels that still exist, by their places.
    static let status = Statement(
        "parcel_status",
        """
        SELECT asked.place, p.epoch, p.settles, p.state = \(ParcelState.leased.sql)
        FROM unnest(:parcels) WITH ORDINALITY AS asked (parcel, place) JOIN parcels p ON p.id = asked.parcel
        """)
}
