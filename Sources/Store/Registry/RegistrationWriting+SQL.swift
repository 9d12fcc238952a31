import Model
import Postgres

/// Registrations: looked up, written, shown.
///
/// Batches run under `PlannerSQL.throughKeys`.
package enum RegistrationSQL {
    // The registration that a row of the input names, in the app. LIMIT keeps the planner from flattening the
    // subquery: it could then read the app from end to end for all of the input at once.
    private static let named = """
        CROSS JOIN LATERAL (
            SELECT * FROM registrations
            WHERE app_id = :app AND installation = input.installation AND kind = input.kind LIMIT 1
        ) AS r
        """

    // The registration's narrow row, behind the same LIMIT.
    static let activity = """
        CROSS JOIN LATERAL (SELECT * FROM registration_pulse WHERE registration_id = r.id LIMIT 1) AS p
        """

    /// A join with the live registration of the app `:app` that holds a row's token. The row is called `input`, and has
    /// the columns `provider` and `token`; the registration is called `r`.
    ///
    /// Three indexes begin with the app, and cost the same if statistics give the app one registration. Only one of them
    /// has the order of the tokens, and sorting is disabled. Equality would make the ORDER BY redundant: hence BETWEEN.
    package static let holding = holding(hash: "sha256(input.token)")

    private static func holding(hash: String) -> String {
        """
        CROSS JOIN LATERAL (
            SELECT * FROM registrations live
            WHERE live.app_id = :app AND live.provider = input.provider
                AND live.state < \(RegistrationState.retired.sql)
                AND sha256(live.token) BETWEEN \(hash) AND \(hash)
            ORDER BY sha256(live.token) LIMIT 1
        ) AS r
        """
    }

    // The live registrations that hold claimed tokens. OFFSET keeps the planner from hashing a token wherever its hash
    // is used.
    private static let claimed = """
        (SELECT each.provider, sha256(each.token) AS hash
            FROM unnest(:providers, :tokens) AS each (provider, token) OFFSET 0) AS input
        \(holding(hash: "input.hash"))
        """

    /// Locks, in id order, every row that the batch may change: those of the named installations and kinds, and those
    /// that hold a claimed token. Reads each row once it is locked.
    static let lock = Statement(
        "registration_lock",
        """
        SELECT r.id, r.created_at, r.installation, r.kind, r.route_id, r.provider, r.token, r.state, r.generation,
            \(ProfileSQL.columns(of: "r")),
            CASE WHEN r.environments_compared = r.generation THEN r.mistaken_route_id END, r.is_backends
        FROM registrations r
        WHERE r.id = ANY (ARRAY(
            SELECT r.id FROM unnest(:installations, :kinds) AS input (installation, kind) \(named)
            UNION ALL
            SELECT r.id FROM \(claimed)))
        ORDER BY r.id FOR NO KEY UPDATE
        """)

    /// Returns when the rows of `lock` last registered. It runs after `lock`: it sees what that waited for.
    static let asOf = Statement(
        "registration_as_of",
        """
        SELECT p.registration_id, greatest(p.registered_at, p.as_of)
        FROM unnest(:installations, :kinds) AS input (installation, kind) \(named) \(activity)
        UNION ALL
        SELECT p.registration_id, greatest(p.registered_at, p.as_of)
        FROM \(claimed) \(activity)
        """)

    /// Returns the rows that have just these attributes already. Only the database knows when two spellings of an
    /// object are the same.
    static let sameAttributes = Statement(
        "registration_same_attributes",
        """
        SELECT r.id FROM unnest(:installations, :kinds, :attributes) AS input (installation, kind, attributes) \(named)
        WHERE r.attributes = input.attributes
        """)

    /// Takes rising ids. Rows whose token is claimed by another registration leave the index of live tokens before any
    /// row enters it. So two devices can swap their tokens in one batch.
    static let release = Statement(
        "registration_release",
        """
        UPDATE registrations r SET state = \(RegistrationState.retired.sql), generation = lost.generation
        FROM unnest(:registrations, :generations) AS lost (id, generation) WHERE r.id = lost.id
        """)

    /// Takes rising ids. Null attributes: unchanged.
    static let update = Statement(
        "registration_update",
        """
        UPDATE registrations r SET state = \(RegistrationState.active.sql), route_id = input.route_id,
            provider = input.provider, generation = input.generation, token = input.token,
            is_backends = input.is_backends, \(ProfileSQL.assignments)
        FROM unnest(:registrations, :routes, :providers, :generations, :tokens, :are_backends, \(ProfileSQL.arrays))
            AS input (id, route_id, provider, generation, token, is_backends, \(ProfileSQL.columns))
        WHERE r.id = input.id
        """)

    /// Ids are drawn first, so that the two tables need not be matched afterwards. Returns, in the order given: id,
    /// times of creation and registration, and the attributes as stored.
    static let insert = Statement(
        "registration_insert",
        """
        WITH input AS MATERIALIZED (
            SELECT nextval('registrations_id_seq') AS id, coalesce(:now, clock_timestamp()) AS created_at, new.*
            FROM unnest(:routes, :providers, :kinds, :installations, :tokens, :are_backends, \(ProfileSQL.arrays),
                :badges, :as_of)
                AS new (route_id, provider, kind, installation, token, is_backends, \(ProfileSQL.columns), badge, as_of)
        ), registration AS (
            INSERT INTO registrations (id, app_id, route_id, provider, kind, installation, token, is_backends, created_at,
                \(ProfileSQL.columns))
            OVERRIDING SYSTEM VALUE
            SELECT id, :app, route_id, provider, kind, installation, token, is_backends, created_at,
                \(ProfileSQL.inserted)
            FROM input
        ), pulse AS (
            INSERT INTO registration_pulse (registration_id, badge, registered_at, as_of)
            SELECT id, badge, least(as_of, created_at), as_of FROM input
        )
        SELECT id, created_at, least(as_of, created_at), coalesce(attributes, '{}') FROM input
        """)

    /// Takes rising ids. A null badge: unchanged. Returns, in any order: id, badge, registration time.
    static let heartbeat = Statement(
        "registration_beat",
        """
        UPDATE registration_pulse p
        SET registered_at = greatest(p.registered_at, least(input.as_of, coalesce(:now, clock_timestamp()))),
            as_of = coalesce(input.as_of, p.as_of), badge = coalesce(input.badge, p.badge),
            raised = CASE WHEN input.badge IS NULL THEN p.raised ELSE 0 END,
            badge_set = CASE WHEN input.badge IS NULL THEN p.badge_set ELSE \(BadgeSQL.newSet) END
        FROM unnest(:registrations, :as_of, :badges) AS input (id, as_of, badge) WHERE p.registration_id = input.id
        RETURNING p.registration_id, p.badge, p.registered_at
        """)

    static let forgetSuspicions = Statement(
        "registration_forget_suspicions", "DELETE FROM suspicions WHERE registration_id = ANY (:registrations)")

    /// The reason is the verdict's own name.
    static let feedback = Statement(
        "registration_tell",
        """
        INSERT INTO feedback (app_id, registration_id, generation, installation, kind, provider, verdict, reason, at)
        SELECT r.app_id, r.id, input.generation, r.installation, r.kind, input.provider, input.verdict,
            CASE input.verdict WHEN \(FeedbackVerdict.replaced.sql) THEN 'replaced' ELSE 'moved' END,
            coalesce(:now, clock_timestamp())
        FROM unnest(:registrations, :generations, :providers, :verdicts) WITH ORDINALITY
            AS input (id, generation, provider, verdict, place)
        JOIN registrations r ON r.id = input.id AND r.kind <> \(TokenKind.wakeUp.sql) ORDER BY input.place
        """)

    /// Columns in the order of `DeviceRecord.init`.
    static let recordColumns = """
        r.id, r.installation, r.kind, r.provider, routes.environment, routes.topic, r.token, r.state, p.badge,
            p.registered_at, r.created_at, \(ProfileSQL.columns(of: "r"))
        """

    /// Returns one row for each installation and kind, which must all exist, in this order.
    static let records = Statement(
        "registration_records",
        """
        SELECT \(recordColumns)
        FROM unnest(:installations, :kinds) WITH ORDINALITY AS input (installation, kind, place) \(named) \(activity)
        JOIN routes ON routes.id = r.route_id
        ORDER BY input.place
        """)

    static let device = Statement(
        "registration_device",
        """
        SELECT \(recordColumns)
        FROM registrations r JOIN registration_pulse p ON p.registration_id = r.id
        JOIN routes ON routes.id = r.route_id
        WHERE r.app_id = :app AND r.installation = :installation ORDER BY r.kind
        """)

    /// A null kind: every kind.
    static let remove = Statement(
        "registration_remove",
        """
        DELETE FROM registrations
        WHERE app_id = :app AND installation = :installation AND (:kind IS NULL OR kind = :kind)
        """)
}
