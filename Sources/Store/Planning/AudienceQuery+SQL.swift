import Model
import Postgres

/// Statements that read an audience, a slice at a time, under `PlannerSQL.throughKeys`.
///
/// A slice is bounded by what is looked at, not by what is found: where few of many fit, it may find no member. All
/// audiences except named installations are read by rising ids, so that a registration is looked at once. One that
/// changes user or tags between two slices is in at most one of them.
///
/// Ranges are compared by the columns that follow the app in an index. By the id alone, a small app's slice could be
/// searched for among the rows of a large one. The order has these columns too, because no other index has that order.
/// A comparison of several columns ends a walk only where its first column passes. If that were the app, a user with
/// few rows would be searched for to the app's end.
///
/// Registrations that only users' tokens made are in no broadcast. They don't fit there, and are reached by name alone.
enum AudienceSQL {
    private static let isLive = "state < \(RegistrationState.retired.sql)"

    // The next live registrations.
    private static let living = """
        FROM registrations
        WHERE app_id = :app AND (kind, id) > (:kind, :after) AND (kind, id) <= (:kind, :horizon) AND \(isLive)
        ORDER BY app_id, kind, id LIMIT :limit
        """

    /// The next live registrations, with whether each fits.
    static let live = Statement("plan_live", "SELECT id, route_id, is_backends \(living)")

    // No provider named means all of them.
    private static func isWanted(_ row: String) -> String {
        "(cardinality(:providers) = 0 OR \(row).provider = ANY (:providers))"
    }

    // Whether a registration has one of the tags. It is a value with a LIMIT, because an EXISTS might be answered by a
    // hash of all registrations that have one.
    private static func has(_ tags: String, _ registration: String) -> String {
        """
        (SELECT true FROM registration_tags t
            WHERE t.registration_id = \(registration) AND t.tag = ANY (\(tags)) LIMIT 1)
        """
    }

    // The same as `live`, narrowed. There is a row for each registration that was looked at, with whether it fits.
    private static func narrowed(_ name: String, _ fits: String) -> Statement {
        Statement(
            name,
            """
            WITH next AS MATERIALIZED (SELECT id, route_id, provider, is_backends \(living))
            SELECT next.id, next.route_id, next.is_backends AND \(isWanted("next")) AND \(fits) FROM next
            """)
    }

    /// Registrations with none of some tags.
    static let liveNarrowed = narrowed("plan_live_narrowed", "\(has(":tags", "next.id")) IS NULL")

    /// Registrations that were last renewed before a time, which each of some providers has.
    static let liveSilent = narrowed(
        "plan_live_silent",
        """
        (SELECT true FROM registration_pulse p
            CROSS JOIN unnest(:silent_providers, :silent_since) AS silent (provider, since)
            WHERE p.registration_id = next.id AND silent.provider = next.provider AND p.registered_at < silent.since
            LIMIT 1) IS NOT NULL
        """)

    /// Registrations that match a filter. It is not prepared, because there are as many statements as filters.
    static func liveFiltered(by filter: FilterSQL) -> Statement {
        Statement(
            unprepared: """
                SELECT r.id, r.route_id, r.is_backends AND \(isWanted("r")) AND \(filter.condition)
                FROM (SELECT * \(living)) AS r \(filter.joins)
                """)
    }

    /// The registrations of named installations, of several messages at once, each once. There is one row for each in
    /// this order, with nulls if it is unknown, and then whether it has a registration of another kind.
    ///
    /// LIMIT keeps the planner from reading the whole app, or its ids up to the horizon, for all installations at once.
    static let named = Statement(
        "plan_named",
        """
        SELECT named.place, r.id, r.route_id,
            CASE WHEN r.id IS NULL THEN (
                SELECT true FROM registrations other
                WHERE app_id = named.app_id AND other.installation = named.installation AND other.id <= named.horizon
                ORDER BY app_id, other.installation, other.kind LIMIT 1) END, r.state, r.provider
        FROM unnest(:apps, :kinds, :horizons, :installations, :places) WITH ORDINALITY
            AS named (app_id, kind, horizon, installation, place, turn)
        LEFT JOIN LATERAL (
            SELECT id, route_id, state, provider FROM registrations
            WHERE app_id = named.app_id AND kind = named.kind AND installation = named.installation LIMIT 1
        ) AS r ON r.id <= named.horizon
        ORDER BY named.turn
        """)

    /// The registrations of users, some of each, above an id of each. There is a row for each that was looked at, with
    /// the user's place and whether it fits.
    static let ofUsers = Statement(
        "plan_users",
        """
        SELECT named.place, owned.id, owned.route_id, owned.kind = :kind AND owned.\(isLive) AND \(isWanted("owned"))
        FROM unnest(:users, :after) WITH ORDINALITY AS named (user_id, after, place) CROSS JOIN LATERAL (
            SELECT id, route_id, kind, state, provider FROM registrations
            WHERE app_id = :app AND (user_id, id) > (named.user_id, named.after)
                AND (user_id, id) <= (named.user_id, :horizon) AND user_id IS NOT NULL
            ORDER BY app_id, user_id, id LIMIT :limit
        ) AS owned
        """)

    // One registration of a user, up to the horizon.
    private static func owned(_ columns: String, _ which: String) -> String {
        """
        SELECT \(columns) FROM registrations r
            WHERE app_id = :app AND (user_id, id) > (named.user_id, 0) AND (user_id, id) <= (named.user_id, :horizon)
                AND user_id IS NOT NULL AND \(which)
            ORDER BY app_id, user_id, id LIMIT 1
        """
    }

    private static let isRetired = "kind = :kind AND state = \(RegistrationState.retired.sql)"

    /// The users without a live registration. Each has one row, with its place among the users. A user with retired
    /// registrations has the first of these; one who never had any has nulls. The last column says whether there is one
    /// of another kind.
    static let usersWithout = Statement(
        "plan_users_without",
        """
        SELECT named.place, gone.id, gone.route_id, CASE WHEN had IS NULL THEN (\(owned("true", "true"))) END
        FROM unnest(:users) WITH ORDINALITY AS named (user_id, place)
        CROSS JOIN LATERAL (SELECT (\(owned("true", "kind = :kind AND \(isLive)"))) AS has OFFSET 0) AS alive
        CROSS JOIN LATERAL (
            SELECT CASE WHEN has IS NULL THEN (\(owned("true", isRetired))) END AS had OFFSET 0
        ) AS past
        LEFT JOIN LATERAL (\(owned("id, route_id", "had AND \(isRetired) AND \(isWanted("r"))"))) AS gone ON true
        WHERE has IS NULL AND (had IS NULL OR gone.id IS NOT NULL)
        """)

    // The next entries of one tag.
    private static func tagged(_ tag: String) -> String {
        """
        FROM registration_tags t
        WHERE t.app_id = :app AND (t.tag, t.registration_id) > (\(tag), :after)
            AND (t.tag, t.registration_id) <= (\(tag), :horizon)
        ORDER BY t.app_id, t.tag, t.registration_id LIMIT :limit
        """
    }

    /// The number of entries of each tag, in this order, up to a limit.
    static let tagCounts = Statement(
        "plan_tag_counts",
        """
        SELECT (SELECT count(*) FROM (SELECT 1 \(tagged("input.tag"))) AS counted)
        FROM unnest(:tags) WITH ORDINALITY AS input (tag, place) ORDER BY input.place
        """)

    /// Registrations by tags: a row for each that was looked at, by rising id, with whether it fits. The entries of
    /// `:scanned` tags are walked. Without tags in `:any`, none of them has to be present.
    static let tagged = Statement(
        "plan_tagged",
        """
        WITH next AS MATERIALIZED (
            SELECT DISTINCT walked.registration_id AS id
            FROM unnest(:scanned) AS driver (tag)
                CROSS JOIN LATERAL (SELECT t.registration_id \(tagged("driver.tag"))) AS walked
            ORDER BY 1 LIMIT :limit
        )
        SELECT next.id, coalesce(r.route_id, 0), coalesce(r.is_backends, false) AND \(isWanted("r"))
            AND (SELECT count(*) FROM registration_tags t WHERE t.registration_id = next.id AND t.tag = ANY (:all))
                = cardinality(:all)
            AND (cardinality(:any) = 0 OR \(has(":any", "next.id")) IS NOT NULL)
            AND \(has(":none", "next.id")) IS NULL
        FROM next LEFT JOIN LATERAL (
            SELECT route_id, provider, is_backends FROM registrations
            WHERE id = next.id AND app_id = :app AND kind = :kind AND \(isLive) LIMIT 1
        ) AS r ON true
        """)

    /// A join that finds the live registration `r` that holds the token of a row. It is the member, whatever route the
    /// message named: the registry knows better, and it has the badge.
    static func holder(of row: String) -> String {
        """
        LEFT JOIN LATERAL (
            SELECT id, route_id FROM registrations live
            WHERE live.app_id = :app AND live.provider = \(row).provider AND live.\(isLive)
                AND sha256(live.token) BETWEEN sha256(\(row).token) AND sha256(\(row).token)
            ORDER BY sha256(live.token) LIMIT 1
        ) AS r ON true
        """
    }

    /// A query of the route that a row names.
    static func route(of row: String, _ which: String = "") -> String {
        """
        SELECT id FROM routes WHERE \(which) app_id = :app AND provider = \(row).provider
            AND environment = \(row).environment AND topic = \(row).topic LIMIT 1
        """
    }

    /// The members of a message that names tokens, each token of a provider once. The tokens that no live registration
    /// holds become rows of their own, with ids that no registration gets.
    static let inline = Statement(
        "plan_inline",
        """
        WITH known AS MATERIALIZED (
            SELECT named.*, r.id, r.route_id
            FROM unnest(:providers, :environments, :topics, :tokens) AS named (provider, environment, topic, token)
            \(holder(of: "named"))
        ), made AS MATERIALIZED (
            SELECT nextval('registrations_id_seq') AS id, routes.id AS route_id, known.token
            FROM known CROSS JOIN LATERAL (\(route(of: "known"))) AS routes
            WHERE known.id IS NULL
        ), written AS (
            INSERT INTO inline_targets (id, message_id, route_id, token)
            SELECT id, :message, route_id, token FROM made
        )
        SELECT id, route_id FROM known WHERE id IS NOT NULL UNION ALL SELECT id, route_id FROM made
        """)
}
