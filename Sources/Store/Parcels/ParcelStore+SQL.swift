import Model
import Postgres
import ProviderInterface
import Providers
import QueueRules

/// Statements that find, claim, renew and rescue parcels. A lease runs under `PlannerSQL.inKeyOrder`.
///
/// A time that is compared with an indexed column comes from now(): it stands still within a transaction, so the index
/// can be searched with it. It is read after the owner's own clock, which is read before the statement leaves.
enum ParcelSQL {
    // The predicate of a partial index needs the number itself, not a parameter.
    private static let isOrdinary = "p.lapses < \(PoisonRule.quarantineFrom)"
    private static let isLapsed = "p.lapses >= \(PoisonRule.quarantineFrom)"

    private static let all: [MessageUrgency] = [.transactional, .bulk]

    private static let (ready, leased) = (ParcelState.ready.sql, ParcelState.leased.sql)
    private static let now = "coalesce(:now, now())"

    private static func isDue(_ which: String, _ urgency: MessageUrgency) -> String {
        """
        EXISTS (SELECT 1 FROM parcels p
            WHERE p.state = \(ready) AND p.route_id = hop.route_id AND p.priority = \(urgency.sql)
                AND p.service = services.service AND p.format = services.format AND p.due_at <= \(now) AND \(which))
        """
    }

    // The services that have such a parcel on the current route. It is a FILTER and not a condition on the rows,
    // because that might be answered by a join, which reads all the parcels.
    private static func services(_ which: String, of urgencies: [MessageUrgency]) -> String {
        let due = urgencies.map { isDue(which, $0) }.joined(separator: " OR ")
        return "(SELECT coalesce(array_agg(DISTINCT services.service) FILTER (WHERE \(due)), '{}') FROM services)"
    }

    /// Routes with due parcels in known formats, behind a route.
    ///
    /// It hops from route to route through the claim index, so its cost follows the routes with ready parcels, not the
    /// parcels.
    static let readyRoutes = Statement(
        "parcel_ready_routes",
        """
        WITH RECURSIVE services AS MATERIALIZED (
            SELECT service, format FROM unnest(ARRAY[\(TopicService.numbers)]::smallint[]) AS known (service)
                CROSS JOIN unnest(:formats) AS format
        ), hop AS (
            (SELECT route_id FROM parcels WHERE state = \(ready) AND route_id > :route ORDER BY route_id LIMIT 1)
            UNION ALL
            SELECT (SELECT p.route_id FROM parcels p
                WHERE p.state = \(ready) AND p.route_id > hop.route_id ORDER BY p.route_id LIMIT 1)
            FROM hop WHERE hop.route_id IS NOT NULL
        ), asked AS MATERIALIZED (
            SELECT hop.route_id, \(services(isOrdinary, of: [.transactional])) AS urgent,
                \(services(isOrdinary, of: [.bulk])) AS bulk, \(services(isLapsed, of: all)) AS lapsed
            FROM hop WHERE hop.route_id IS NOT NULL
        ), due AS (
            SELECT route_id, urgent, bulk, lapsed FROM asked WHERE cardinality(urgent || bulk || lapsed) > 0 LIMIT :limit
        )
        SELECT r.id, r.app_id, r.provider, r.environment, r.topic, due.urgent || due.bulk, due.lapsed, due.urgent
        FROM due JOIN routes r ON r.id = due.route_id ORDER BY r.id
        """)

    // Only in this case is the pause computed: `power` would overflow after a thousand lapses.
    private static let isTriedOn =
        "pending = 1 AND lapses + 1 >= \(PoisonRule.bisectedFrom) AND lapses + 1 < \(PoisonRule.givenUpFrom)"
    private static let pause = """
        least(\(PoisonRule.pauseSecondsFirst) * power(2, lapses + 1 - \(PoisonRule.bisectedFrom)),
                \(PoisonRule.pauseSecondsMax)) * interval '1 second'
        """

    /// Makes parcels with an expired lease ready again. A single push that is tried on waits for `PoisonRule.pause`,
    /// but not past its expiry, where `claimExpired` must find it.
    static let rescue = Statement(
        "parcel_rescue",
        """
        UPDATE parcels SET state = \(ready), owner = NULL, lease_until = NULL, lapses = least(lapses + 1, 32767),
            due_at = CASE WHEN \(isTriedOn)
                THEN least(\(now) + \(pause), expires_at, origin_until) ELSE due_at END
        WHERE id = ANY (ARRAY(
            SELECT id FROM parcels WHERE state = \(leased) AND lease_until < \(now)
            ORDER BY lease_until LIMIT :limit FOR UPDATE SKIP LOCKED))
        """)

    // The providers whose tokens may belong to another environment.
    private static let withSibling = PushProviders.offered.filter(\.hasSiblingEnvironment).map(\.id).sql

    // The sibling route, if a credential covers the service there: the one that `CredentialSQL.active` chooses, unless
    // the provider refuses it for now.
    private static func otherEnvironment(of route: String, _ service: String) -> String {
        """
        SELECT sibling.id FROM routes own
        JOIN routes sibling ON sibling.app_id = own.app_id AND sibling.provider = own.provider
            AND sibling.environment = sibling_environment(own.environment) AND sibling.topic = own.topic
        CROSS JOIN LATERAL (
            SELECT id FROM credentials
            WHERE app_id = sibling.app_id AND provider = sibling.provider AND environment = sibling.environment
                AND state = \(CredentialState.active.sql)
                AND \(CredentialSQL.covers("sibling.topic", TopicService.suffix(of: service)))
            ORDER BY \(CredentialSQL.closest("sibling.topic")) LIMIT 1
        ) AS speaker
        WHERE own.id = \(route) AND own.provider IN (\(withSibling)) AND NOT EXISTS (
            SELECT FROM lane_blocks WHERE credential_id = speaker.id AND until > \(now))
        """
    }

    private static let leaseEnd = "\(now) + :lease_us * interval '1 microsecond'"

    // Leases the parcels of `next`, puts them on hold, or makes them rate-limited.
    private static func taking(unless isRateLimited: String) -> String {
        let isKept = "(\(isStopped) OR \(isRateLimited))"
        return """
            UPDATE parcels p SET state = CASE WHEN \(isStopped) THEN \(ParcelState.onHold.sql)
                    WHEN \(isRateLimited) THEN \(ParcelState.rateLimited.sql) ELSE \(leased) END,
                epoch = CASE WHEN \(isKept) THEN p.epoch ELSE p.epoch + 1 END,
                owner = CASE WHEN NOT \(isKept) THEN :owner END,
                lease_until = CASE WHEN NOT \(isKept) THEN \(leaseEnd) END,
                badge_marked = p.badge_marked OR p.expires_at > \(now) AND NOT \(isKept)
            FROM next, messages m
            WHERE p.id = next.id AND m.id = p.message_id
            """
    }

    private static let columns = columns(sibling: "(\(otherEnvironment(of: ":route", ":service")))")

    // The columns of a `ParcelRow`.
    //
    // - Parameter sibling: the sibling route, or null if it can't be tried.
    private static func columns(sibling: String) -> String {
        """
        p.id, p.message_id, p.app_id, p.epoch, p.settles, p.attempt, p.lapses, p.retry_spent, p.answer_lost,
            p.expires_at, \(now), p.member_count, p.members, p.settled, m.badge_change, m.badge_value,
            NOT next.badge_marked, m.reads_locale, m.has_inline, CASE WHEN p.origin_route_id IS NULL THEN \(sibling) END,
            p.origin_route_id, p.origin_generation, p.origin_reason, p.origin_until, p.origin_as_of, p.state,
            \(LimitSQL.ofParcel(now: now)), p.uncounted, p.badge_set, m.rate_per_second, p.priority,
            \(AudienceCheckSQL.hasConditions("m"))
        """
    }

    private static let isStopped = "(\(ControlSQL.isStopped("m")))"
    private static let isRateLimited =
        "(\(RateSQL.isRateLimited("m", lapses: "p.lapses", origin: "p.origin_route_id")) AND p.expires_at > \(now))"

    /// Claims parcels. The last column is the place in the order of leases; rows come in no order.
    ///
    /// Transactional parcels come first, then the ones that have been due longest. Several are claimed only if all of
    /// them are transactional and small together. A cross-environment parcel is claimed by itself.
    ///
    /// A parcel that has expired already is leased without its badges, because nothing will be sent. A ready parcel of a
    /// stopped message is put on hold instead of leased. One that must wait for its message's rate becomes rate-limited.
    private static func claim(
        _ name: String, where which: String, of urgencies: [MessageUrgency] = all,
        unless isRateLimited: String = "false"
    ) -> Statement {
        let bulk = """
            , bulk AS MATERIALIZED (
                SELECT p.id, p.badge_marked \(candidates(.bulk, which)) AND NOT EXISTS (SELECT FROM urgent)
                ORDER BY p.due_at, p.id LIMIT 1 FOR UPDATE SKIP LOCKED
            )
            """
        let takesBulk = urgencies.contains(.bulk)
        return Statement(
            name,
            """
            WITH urgent AS MATERIALIZED (
                SELECT p.id, p.badge_marked, p.member_count, p.due_at, p.origin_route_id IS NOT NULL AS is_apart
                \(candidates(.transactional, which))
                ORDER BY p.due_at, p.id LIMIT :parcels_max FOR UPDATE SKIP LOCKED
            )\(takesBulk ? bulk : ""), next AS MATERIALIZED (
                SELECT id, badge_marked, place FROM (
                    SELECT id, badge_marked, row_number() OVER in_order AS place,
                        sum(member_count) OVER in_order AS members, bool_or(is_apart) OVER in_order AS is_apart
                    FROM urgent WINDOW in_order AS (ORDER BY due_at, id)
                ) AS placed WHERE place = 1 OR members <= :members_max AND NOT is_apart
                \(takesBulk ? "UNION ALL SELECT id, badge_marked, 1 FROM bulk" : "")
            )
            \(taking(unless: isRateLimited))
            RETURNING \(columns), next.place
            """)
    }

    private static func candidates(_ urgency: MessageUrgency, _ which: String) -> String {
        """
        FROM parcels p
            WHERE p.route_id = :route AND p.service = :service AND p.state = \(ready)
                AND p.priority = \(urgency.sql) AND p.due_at <= \(now) AND p.format = ANY (:formats) AND \(which)
        """
    }

    static let claimOrdinary = claim("parcel_claim", where: isOrdinary, unless: isRateLimited)
    static let claimUrgent = claim(
        "parcel_claim_urgent", where: isOrdinary, of: [.transactional], unless: isRateLimited)

    /// Writes parcels of messages that were written in the same transaction, and leases them. The arrays have one element
    /// for each parcel.
    ///
    /// Its answer has the columns of a claim and those of a ready route. Rows come in the order of the arrays.
    static let cut = Statement(
        "parcel_cut",
        """
        WITH written AS MATERIALIZED (
            INSERT INTO parcels (message_id, app_id, route_id, format, service, priority, state, epoch, badge_marked,
                due_at, expires_at, owner, lease_until, members, member_count, pending)
            SELECT m.id, m.app_id, cut.route_id, m.format, cut.service, m.priority, \(leased), 1,
                m.expires_at > \(now), \(now), m.expires_at, :owner, \(leaseEnd), cut.member_list, cut.member_count,
                cut.member_count
            FROM unnest(:messages, :routes, :services, :member_lists, :member_counts) WITH ORDINALITY
                AS cut (message_id, route_id, service, member_list, member_count, place)
                JOIN messages m ON m.id = cut.message_id
            ORDER BY cut.place
            RETURNING *
        ), served AS MATERIALIZED (
            SELECT used.route_id, used.service, (\(otherEnvironment(of: "used.route_id", "used.service"))) AS sibling_id
            FROM (SELECT DISTINCT route_id, service FROM written) AS used
        )
        SELECT \(columns(sibling: "served.sibling_id")), row_number() OVER (ORDER BY p.id), p.route_id, p.service,
            p.app_id, r.provider, r.environment, r.topic, true
        FROM written p JOIN messages m ON m.id = p.message_id JOIN routes r ON r.id = p.route_id
            CROSS JOIN (SELECT false AS badge_marked) AS next
            LEFT JOIN served ON served.route_id = p.route_id AND served.service = p.service
        ORDER BY p.id
        """)

    static let claimLapsed = claim("parcel_claim_lapsed", where: isLapsed)
    /// Claims expired parcels. A cross-environment parcel counts as expired from `origin_until` on.
    static let claimExpired = claim("parcel_claim_expired", where: "least(p.expires_at, p.origin_until) <= \(now)")
    static let claimRateLimited = RateSQL.claim(returning: columns)

    /// Makes a parcel that is not leased due later.
    static let putAside = Statement(
        "parcel_put_aside",
        """
        UPDATE parcels SET due_at = \(now) + :length_us * interval '1 microsecond'
        WHERE id = :parcel AND state IN (\([ParcelState.ready, .rateLimited].sql))
        """)

    // The cast keeps the planner from reading all leased parcels.
    private static let isHeld = """
        SELECT lease.place, p.id FROM unnest(:parcels, :epochs) WITH ORDINALITY AS lease (parcel, epoch, place)
            JOIN parcels p
                ON p.id = lease.parcel AND p.epoch = lease.epoch AND p.owner = :owner AND p.state::integer = \(leased)
        """

    /// Extends leases and never shortens them, under `PlannerSQL.throughKeys`. It returns the places of those renewed,
    /// and skips those that others have locked.
    static let renew = Statement(
        "parcel_renew",
        """
        WITH held AS MATERIALIZED (\(isHeld) FOR NO KEY UPDATE OF p SKIP LOCKED)
        UPDATE parcels p SET lease_until = greatest(lease_until, \(leaseEnd))
        FROM held WHERE p.id = held.id RETURNING held.place
        """)

    /// The places of the leases that still are the owner's, renewed or not.
    static let held = Statement("parcel_held", isHeld)
}
