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
enum AudienceSQL {
    // $1 app, $2 kind, $3 above which id, $4 horizon, $5 how many.
    private static let living = """
        FROM registrations
        WHERE app_id = $1 AND (kind, id) > ($2, $3) AND (kind, id) <= ($2, $4) AND state < 3
        ORDER BY app_id, kind, id LIMIT $5
        """

    /// $1 app, $2 kind, $3 above which id, $4 horizon, $5 how many.
    static let live = Statement("plan_live", "SELECT id, route_id \(living)")

    // No provider named means all of them.
    private static func isWanted(_ row: String, in providers: String) -> String {
        "(cardinality(\(providers)) = 0 OR \(row).provider = ANY (\(providers)))"
    }

    // Whether a registration has one of the tags. It is a value with a LIMIT, because an EXISTS might be answered by a
    // hash of all registrations that have one.
    private static func has(_ tags: String, _ registration: String) -> String {
        """
        (SELECT true FROM registration_tags t
            WHERE t.registration_id = \(registration) AND t.tag = ANY (\(tags)) LIMIT 1)
        """
    }

    /// The same as `live`, narrowed. Parameters: $6 providers, $7 tags that no member may have. There is a row for each
    /// registration that was looked at, with whether it fits.
    static let liveNarrowed = Statement(
        "plan_live_narrowed",
        """
        WITH next AS MATERIALIZED (SELECT id, route_id, provider \(living))
        SELECT next.id, next.route_id, \(isWanted("next", in: "$6")) AND \(has("$7", "next.id")) IS NULL FROM next
        """)

    /// The same as `live`, for registrations that were last renewed before a time. Parameters: $6 providers,
    /// $7 providers and $8 their times. There is a row for each that was looked at, with whether it fits.
    static let liveSilent = Statement(
        "plan_live_silent",
        """
        WITH next AS MATERIALIZED (SELECT id, route_id, provider \(living))
        SELECT next.id, next.route_id, \(isWanted("next", in: "$6")) AND (
            SELECT true FROM registration_pulse p CROSS JOIN unnest($7, $8) AS silent (provider, since)
            WHERE p.registration_id = next.id AND silent.provider = next.provider AND p.registered_at < silent.since
            LIMIT 1) IS NOT NULL
        FROM next
        """)

    /// The same as `live`, for registrations that match a filter. Parameters: $6 providers, then those of the filter.
    /// There is a row for each that was looked at, with whether it fits. It is not prepared, because there are as many
    /// statements as filters.
    static func liveFiltered(by filter: FilterSQL) -> Statement {
        Statement(
            unprepared: """
                SELECT r.id, r.route_id, \(isWanted("r", in: "$6")) AND \(filter.condition)
                FROM (SELECT * \(living)) AS r \(filter.joins)
                """)
    }

    /// The registrations of named installations, of several messages at once. Parameters: $1 apps, $2 kinds,
    /// $3 horizons, $4 installations, $5 their places in their message, each once. There is one row for each in this
    /// order, with nulls if it is unknown. The last column says whether it has a registration of another kind.
    ///
    /// LIMIT keeps the planner from reading the whole app, or its ids up to the horizon, for all installations at once.
    static let named = Statement(
        "plan_named",
        """
        SELECT named.place, r.id, r.route_id, r.state, r.provider,
            CASE WHEN r.id IS NULL THEN (
                SELECT true FROM registrations other
                WHERE app_id = named.app_id AND other.installation = named.installation AND other.id <= named.horizon
                ORDER BY app_id, other.installation, other.kind LIMIT 1) END
        FROM unnest($1, $2, $3, $4, $5) WITH ORDINALITY
            AS named (app_id, kind, horizon, installation, place, turn)
        LEFT JOIN LATERAL (
            SELECT id, route_id, state, provider FROM registrations
            WHERE app_id = named.app_id AND kind = named.kind AND installation = named.installation LIMIT 1
        ) AS r ON r.id <= named.horizon
        ORDER BY named.turn
        """)

    /// The registrations of users. Parameters: $1 app, $2 kind, $3 horizon, $4 how many of each user, $5 providers,
    /// $6 users, each once, $7 above which id of each. There is a row for each that was looked at, with the user's
    /// place and whether it fits.
    static let ofUsers = Statement(
        "plan_users",
        """
        SELECT named.place, owned.id, owned.route_id, owned.kind = $2 AND owned.state < 3 AND \(isWanted("owned", in: "$5"))
        FROM unnest($6, $7) WITH ORDINALITY AS named (user_id, after, place) CROSS JOIN LATERAL (
            SELECT id, route_id, kind, state, provider FROM registrations
            WHERE app_id = $1 AND (user_id, id) > (named.user_id, named.after) AND (user_id, id) <= (named.user_id, $3)
                AND user_id IS NOT NULL
            ORDER BY app_id, user_id, id LIMIT $4
        ) AS owned
        """)

    // One registration of a user, up to the horizon.
    private static func owned(_ columns: String, _ which: String) -> String {
        """
        SELECT \(columns) FROM registrations r
            WHERE app_id = $1 AND (user_id, id) > (named.user_id, 0) AND (user_id, id) <= (named.user_id, $3)
                AND user_id IS NOT NULL AND \(which)
            ORDER BY app_id, user_id, id LIMIT 1
        """
    }

    /// The users without a live registration. Parameters: $1 app, $2 kind, $3 horizon, $4 providers, $5 users. Each has
    /// one row, with its place among the users. A user with retired registrations has the first of these; one who never
    /// had any has nulls. The last column says whether there is one of another kind.
    static let usersWithout = Statement(
        "plan_users_without",
        """
        SELECT named.place, gone.id, gone.route_id, CASE WHEN had IS NULL THEN (\(owned("true", "true"))) END
        FROM unnest($5) WITH ORDINALITY AS named (user_id, place)
        CROSS JOIN LATERAL (SELECT (\(owned("true", "kind = $2 AND state < 3"))) AS has OFFSET 0) AS alive
        CROSS JOIN LATERAL (
            SELECT CASE WHEN has IS NULL THEN (\(owned("true", "kind = $2 AND state = 3"))) END AS had OFFSET 0
        ) AS past
        LEFT JOIN LATERAL (
            \(owned("id, route_id", "had AND kind = $2 AND state = 3 AND " + isWanted("r", in: "$4")))
        ) AS gone ON true
        WHERE has IS NULL AND (had IS NULL OR gone.id IS NOT NULL)
        """)

    // Entries of one tag, with $1, $3, $4 and $5 of the statement around them.
    private static func tagged(_ tag: String) -> String {
        """
        FROM registration_tags t
        WHERE t.app_id = $1 AND (t.tag, t.registration_id) > (\(tag), $3) AND (t.tag, t.registration_id) <= (\(tag), $4)
        ORDER BY t.app_id, t.tag, t.registration_id LIMIT $5
        """
    }

    /// The number of entries of each tag, in this order. Parameters: $1 app, $2 tags, $3 above which id, $4 horizon,
    /// $5 where to stop counting.
    static let tagCounts = Statement(
        "plan_tag_counts",
        """
        SELECT (SELECT count(*) FROM (SELECT 1 \(tagged("said.tag"))) AS counted)
        FROM unnest($2) WITH ORDINALITY AS said (tag, place) ORDER BY said.place
        """)

    /// Registrations by tags: a row for each that was looked at, by rising id, with whether it fits. Parameters:
    /// $1 app, $2 kind, $3 above which id, $4 horizon, $5 how many, $6 providers. Tags, each once: $7 those whose
    /// entries are walked, $8 all must be present, $9 one must be present (none given: any), $10 none may be present.
    static let tagged = Statement(
        "plan_tagged",
        """
        WITH next AS MATERIALIZED (
            SELECT DISTINCT walked.registration_id AS id
            FROM unnest($7) AS driver (tag) CROSS JOIN LATERAL (SELECT t.registration_id \(tagged("driver.tag"))) AS walked
            ORDER BY 1 LIMIT $5
        )
        SELECT next.id, coalesce(r.route_id, 0), r.route_id IS NOT NULL AND \(isWanted("r", in: "$6"))
            AND (SELECT count(*) FROM registration_tags t WHERE t.registration_id = next.id AND t.tag = ANY ($8))
                = cardinality($8)
            AND (cardinality($9) = 0 OR \(has("$9", "next.id")) IS NOT NULL)
            AND \(has("$10", "next.id")) IS NULL
        FROM next LEFT JOIN LATERAL (
            SELECT route_id, provider FROM registrations
            WHERE id = next.id AND app_id = $1 AND kind = $2 AND state < 3 LIMIT 1
        ) AS r ON true
        """)

    /// The members of a message that names tokens. Parameters: $1 app, $2 message, $3 providers, $4 environments,
    /// $5 topics, $6 tokens, each token of a provider once.
    ///
    /// If a live registration holds the token, it is the member, whatever route the message named: the registry knows
    /// better, and it has the badge. The other tokens become rows of their own, with ids that no registration gets.
    static let inline = Statement(
        "plan_inline",
        """
        WITH known AS MATERIALIZED (
            SELECT said.*, r.id, r.route_id
            FROM unnest($3, $4, $5, $6) AS said (provider, environment, topic, token)
            LEFT JOIN LATERAL (
                SELECT id, route_id FROM registrations live
                WHERE live.app_id = $1 AND live.provider = said.provider AND live.state < 3
                    AND sha256(live.token) BETWEEN sha256(said.token) AND sha256(said.token)
                ORDER BY sha256(live.token) LIMIT 1
            ) AS r ON true
        ), made AS MATERIALIZED (
            SELECT nextval('registrations_id_seq') AS id, routes.id AS route_id, known.token
            FROM known CROSS JOIN LATERAL (
                SELECT id FROM routes WHERE app_id = $1 AND provider = known.provider
                    AND environment = known.environment AND topic = known.topic LIMIT 1
            ) AS routes
            WHERE known.id IS NULL
        ), written AS (
            INSERT INTO inline_targets (id, message_id, route_id, token) SELECT id, $2, route_id, token FROM made
        )
        SELECT id, route_id FROM known WHERE id IS NOT NULL UNION ALL SELECT id, route_id FROM made
        """)
}
