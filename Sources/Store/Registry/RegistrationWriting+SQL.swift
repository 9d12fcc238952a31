import Postgres

/// Registrations: looked up, written, shown.
///
/// Batches run under `PlannerSQL.throughKeys`.
enum RegistrationSQL {
    // The registration that a row of the input names, in the app $1. LIMIT keeps the planner from flattening the
    // subquery: it could then read the app from end to end for all of the input at once.
    private static let named = """
        CROSS JOIN LATERAL (
            SELECT * FROM registrations
            WHERE app_id = $1 AND installation = said.installation AND kind = said.kind LIMIT 1
        ) AS r
        """

    // The registration's narrow row, behind the same LIMIT.
    static let activity = """
        CROSS JOIN LATERAL (SELECT * FROM registration_pulse WHERE registration_id = r.id LIMIT 1) AS p
        """

    // The live registration that holds a row's token. Three indexes begin with the app, and cost the same if statistics
    // give the app one registration. Only one of them has the order of the tokens, and sorting is disabled. Equality
    // would make the ORDER BY redundant: hence BETWEEN.
    static let holding = holding(hash: "sha256(said.token)")

    private static func holding(hash: String) -> String {
        """
        CROSS JOIN LATERAL (
            SELECT * FROM registrations live
            WHERE live.app_id = $1 AND live.provider = said.provider AND live.state < 3
                AND sha256(live.token) BETWEEN \(hash) AND \(hash)
            ORDER BY sha256(live.token) LIMIT 1
        ) AS r
        """
    }

    // Providers $4 and tokens $5. OFFSET keeps the planner from hashing a token wherever its hash is used.
    private static let claimed = """
        (SELECT each.provider, sha256(each.token) AS hash FROM unnest($4, $5) AS each (provider, token) OFFSET 0) AS said
        \(holding(hash: "said.hash"))
        """

    /// $1 app; $2 installations and $3 kinds that are named; $4 providers and $5 tokens that are claimed.
    ///
    /// Locks, in id order, every row that the batch may change, and reads each row once it is locked.
    static let lock = Statement(
        "registration_lock",
        """
        SELECT r.id, r.installation, r.kind, r.route_id, r.provider, r.token, r.state, r.generation, r.user_id,
            r.locale, r.time_zone, r.app_version, r.tags,
            CASE WHEN r.environments_compared = r.generation THEN r.mistaken_route_id END, r.created_at, r.attributes
        FROM registrations r
        WHERE r.id = ANY (ARRAY(
            SELECT r.id FROM unnest($2, $3) AS said (installation, kind) \(named)
            UNION ALL
            SELECT r.id FROM \(claimed)))
        ORDER BY r.id FOR NO KEY UPDATE
        """)

    /// $1 app; $2 installations and $3 kinds that are named; $4 providers and $5 tokens that are claimed.
    ///
    /// Returns when the rows of `lock` last registered. It runs after `lock`: it sees what that waited for.
    static let asOf = Statement(
        "registration_as_of",
        """
        SELECT p.registration_id, greatest(p.registered_at, p.as_of)
        FROM unnest($2, $3) AS said (installation, kind) \(named) \(activity)
        UNION ALL
        SELECT p.registration_id, greatest(p.registered_at, p.as_of)
        FROM \(claimed) \(activity)
        """)

    /// $1 app, $2 installations, $3 kinds, $4 attributes. Returns the rows that have just these attributes already.
    /// Only the database knows when two spellings of an object are the same.
    static let sameAttributes = Statement(
        "registration_same_attributes",
        """
        SELECT r.id FROM unnest($2, $3, $4) AS said (installation, kind, attributes) \(named)
        WHERE r.attributes = said.attributes
        """)

    /// $1 ids, rising, $2 generations. Rows whose token is claimed by another registration leave the index of live
    /// tokens before any row enters it. So two devices can swap their tokens in one batch.
    static let release = Statement(
        "registration_release",
        """
        UPDATE registrations r SET state = 3, generation = lost.generation
        FROM unnest($1, $2) AS lost (id, generation) WHERE r.id = lost.id
        """)

    /// - $1 ids, rising, $2 routes, $3 providers, $4 generations, $5 tokens, $6 users, $7 locales, $8 time zones.
    /// - $9 app versions, $10 tags as array literals, $11 attributes (null: unchanged).
    static let update = Statement(
        "registration_update",
        """
        UPDATE registrations r SET state = 1, route_id = said.route_id, provider = said.provider,
            generation = said.generation, token = said.token, user_id = said.user_id, locale = said.locale,
            time_zone = said.time_zone, app_version = said.app_version, tags = said.tags::text[],
            attributes = coalesce(said.attributes, r.attributes)
        FROM unnest($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11) AS said (id, route_id, provider, generation, token,
            user_id, locale, time_zone, app_version, tags, attributes)
        WHERE r.id = said.id
        """)

    /// - $1 app, $2 routes, $3 providers, $4 kinds, $5 installations, $6 tokens, $7 users, $8 locales, $9 time zones.
    /// - $10 app versions, $11 tags as array literals, $12 attributes, $13 badges, $14 as of, $15 now.
    ///
    /// Ids are drawn first, so that the two tables need not be matched afterwards. Returns, in the order given: id,
    /// times of creation and registration, and the attributes as stored.
    static let insert = Statement(
        "registration_insert",
        """
        WITH said AS MATERIALIZED (
            SELECT nextval('registrations_id_seq') AS id, coalesce($15, clock_timestamp()) AS created_at, new.*
            FROM unnest($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14) AS new (route_id, provider, kind,
                installation, token, user_id, locale, time_zone, app_version, tags, attributes, badge, as_of)
        ), born AS (
            INSERT INTO registrations (id, app_id, route_id, provider, kind, installation, token, user_id, locale,
                time_zone, app_version, tags, attributes, created_at)
            OVERRIDING SYSTEM VALUE
            SELECT id, $1, route_id, provider, kind, installation, token, user_id, locale, time_zone, app_version,
                tags::text[], coalesce(attributes, '{}'), created_at
            FROM said
        ), beating AS (
            INSERT INTO registration_pulse (registration_id, badge, registered_at, as_of)
            SELECT id, badge, least(as_of, created_at), as_of FROM said
        )
        SELECT id, created_at, least(as_of, created_at), coalesce(attributes, '{}') FROM said
        """)

    /// $1 ids, rising, $2 as of, $3 now. Returns, in any order: id, badge, registration time.
    static let heartbeat = Statement(
        "registration_beat",
        """
        UPDATE registration_pulse p
        SET registered_at = greatest(p.registered_at, least(said.as_of, coalesce($3, clock_timestamp()))),
            as_of = coalesce(said.as_of, p.as_of)
        FROM unnest($1, $2) AS said (id, as_of) WHERE p.registration_id = said.id
        RETURNING p.registration_id, p.badge, p.registered_at
        """)

    static let forgetSuspicions = Statement(
        "registration_forget_suspicions", "DELETE FROM suspicions WHERE registration_id = ANY ($1)")

    /// $1 ids, $2 generations, $3 providers, $4 verdicts, $5 now. The reason is the verdict's own name.
    static let feedback = Statement(
        "registration_tell",
        """
        INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason, at)
        SELECT r.app_id, r.id, said.generation, r.installation, r.kind, said.provider, said.verdict,
            CASE said.verdict WHEN 3 THEN 'replaced' ELSE 'moved' END, coalesce($5, clock_timestamp())
        FROM unnest($1, $2, $3, $4) WITH ORDINALITY AS said (id, generation, provider, verdict, place)
        JOIN registrations r ON r.id = said.id ORDER BY said.place
        """)

    /// Columns in the order of `DeviceRecord.init(reading:row:)`.
    static let recordColumns = """
        r.id, r.installation, r.kind, r.provider, routes.environment, routes.topic, r.token, r.state, p.badge,
            p.registered_at, r.created_at, r.user_id, r.locale, r.time_zone, r.app_version, r.tags, r.attributes
        """

    /// $1 app, $2 installations, $3 kinds, which must all exist. Returns one row for each, in this order.
    static let records = Statement(
        "registration_records",
        """
        SELECT \(recordColumns)
        FROM unnest($2, $3) WITH ORDINALITY AS said (installation, kind, place) \(named) \(activity)
        JOIN routes ON routes.id = r.route_id
        ORDER BY said.place
        """)

    /// $1 app, $2 installation.
    static let device = Statement(
        "registration_device",
        """
        SELECT \(recordColumns)
        FROM registrations r JOIN registration_pulse p ON p.registration_id = r.id
        JOIN routes ON routes.id = r.route_id
        WHERE r.app_id = $1 AND r.installation = $2 ORDER BY r.kind
        """)

    static let remove = Statement(
        "registration_remove", "DELETE FROM registrations WHERE app_id = $1 AND installation = $2")
}
