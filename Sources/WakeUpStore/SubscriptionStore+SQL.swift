import Model
import Postgres
import Store
import WakeUpRules

/// Subscriptions to watches. They run under `PlannerSQL.throughKeys`.
enum SubscriptionSQL {
    private static let now = "coalesce(:now, clock_timestamp())"

    /// The live registrations that hold a token, as each provider reads it, with their kinds.
    static let holders = Statement(
        "subscription_holders",
        """
        SELECT r.id, r.provider, r.kind
        FROM unnest(:providers, :tokens) AS input (provider, token) \(RegistrationSQL.holding)
        """)

    /// The registration that only subscriptions made, live or not.
    static let nameless = Statement(
        "subscription_nameless",
        """
        SELECT id FROM registrations
        WHERE app_id = :app AND installation = :installation AND kind = \(TokenKind.wakeUp.sql)
        """)

    /// Makes a registration of a token that none holds, unless another session does so, or one exists that is retired.
    /// It is idle until it has a subscription, and unproven until it takes a push.
    static let addRegistration = Statement(
        "subscription_add_registration",
        """
        WITH made AS (
            INSERT INTO registrations (app_id, route_id, provider, kind, installation, token, created_at)
            SELECT :app, id, provider, \(TokenKind.wakeUp.sql), :installation, :token, \(now) FROM routes
            WHERE app_id = :app AND provider = :provider AND environment = :environment AND topic = ''
            ON CONFLICT DO NOTHING RETURNING id
        ), idle AS (
            INSERT INTO idle_subscribers (registration_id, since) SELECT id, \(now) FROM made
        ), unproven AS (
            INSERT INTO unproven_subscribers (registration_id, app_id, since) SELECT id, :app, \(now) FROM made
        )
        INSERT INTO registration_pulse (registration_id, registered_at)
        SELECT id, \(now) FROM made RETURNING registration_id
        """)

    /// Revives the registration of a token that only subscriptions named, after a provider's verdict retired it. It has
    /// to take a push again.
    static let reviveRegistration = Statement(
        "subscription_revive_registration",
        """
        WITH revived AS (
            UPDATE registrations SET state = \(RegistrationState.active.sql), generation = generation + 1
            WHERE app_id = :app AND installation = :installation AND kind = \(TokenKind.wakeUp.sql)
                AND state = \(RegistrationState.retired.sql)
            RETURNING id
        ), unproven AS (
            INSERT INTO unproven_subscribers (registration_id, app_id, since) SELECT id, :app, \(now) FROM revived
            ON CONFLICT (registration_id) DO UPDATE SET since = excluded.since, blamed_at = NULL
        )
        UPDATE registration_pulse p SET registered_at = \(now) FROM revived WHERE p.registration_id = revived.id
        RETURNING revived.id
        """)

    /// Whether wake-up is on, and the watch of a path, if there is one.
    static let status = Statement(
        "subscription_status",
        """
        SELECT a.deleted_at IS NULL AND coalesce((a.settings -> 'wakeup' ->> 'enabled')::boolean, false),
            w.id, w.weight_bytes, w.weight_leaves, w.wants_value, w.wants_children
        FROM apps a LEFT JOIN watches w ON w.app_id = a.id AND w.path = :path WHERE a.id = :app
        """)

    /// Whether wake-up is on, and stays on until the transaction ends. Switching it off waits for this, and then ends the
    /// new subscription too.
    static let isEnabled = Statement(
        "subscription_is_enabled",
        """
        SELECT deleted_at IS NULL AND coalesce((settings -> 'wakeup' ->> 'enabled')::boolean, false)
        FROM apps WHERE id = :app FOR SHARE
        """)

    /// Keeps the app's rules as they are until the transaction ends, if they have this revision. A change of them waits,
    /// and then asks about the new subscription too.
    static let keepRules = Statement(
        "subscription_keep_rules", "SELECT FROM node_rules WHERE app_id = :app AND revision = :revision FOR SHARE")

    /// Keeps a registration and its token as they are until the transaction ends, if it still holds the token.
    static let keepRegistration = Statement(
        "subscription_keep_registration",
        """
        SELECT id FROM registrations
        WHERE id = :registration AND token = ANY (:tokens) AND state < \(RegistrationState.retired.sql) FOR SHARE
        """)

    /// Whether the device was registered for this user before, and is for another one now, or for none.
    ///
    /// It is asked behind `keepRegistration`: a change of the device's user has ended by then.
    static let isFormerUser = Statement(
        "subscription_is_former_user",
        """
        SELECT FROM former_users f
        CROSS JOIN LATERAL (SELECT user_id FROM registrations WHERE id = f.registration_id LIMIT 1) AS r
        WHERE f.registration_id = :registration AND f.user_id = :user AND r.user_id IS DISTINCT FROM f.user_id
        """)

    /// The watch of a path, kept from being removed until the transaction ends.
    static let watch = Statement(
        "subscription_watch",
        """
        SELECT id, weight_bytes, weight_leaves, wants_value, wants_children
        FROM watches WHERE app_id = :app AND path = :path FOR KEY SHARE
        """)

    /// Makes a watch, with the weight of its node, unless that is too large. The app's tree must be locked, so that no
    /// write comes between.
    static let addWatch = Statement(
        "subscription_add_watch",
        """
        INSERT INTO watches (app_id, path, weight_bytes, weight_leaves)
        SELECT :app, :path, coalesce(sum(octet_length(leaf.path) + octet_length(leaf.value)), 0), count(*)
        FROM (
            SELECT path, value FROM nodes WHERE app_id = :app AND path = :path
            UNION ALL
            (SELECT path, value FROM nodes WHERE app_id = :app AND path > :prefix AND path < :end
                ORDER BY app_id, path LIMIT :leaves_max + 1)
        ) AS leaf
        HAVING count(*) <= :leaves_max
            AND coalesce(sum(octet_length(leaf.path) + octet_length(leaf.value)), 0) <= :bytes_max
        ON CONFLICT (app_id, path) DO UPDATE SET path = excluded.path RETURNING id
        """)

    /// Notes that a subscription asks for data that no other asked for. Which children changed before is not known.
    static let want = Statement(
        "subscription_want",
        """
        UPDATE watches SET wants_value = wants_value OR :value,
            overflow_seq = CASE WHEN :children AND NOT wants_children THEN seq ELSE overflow_seq END,
            wants_children = wants_children OR :children
        WHERE id = :watch
        """)

    static let count = Statement(
        "subscription_count",
        """
        SELECT count(*) FROM (
            SELECT FROM subscriptions WHERE registration_id = :registration AND watch_id <> :watch LIMIT :limit) AS own
        """)

    /// An app's subscriptions, up to a limit.
    static let countOfApp = Statement(
        "subscription_count_of_app",
        """
        SELECT count(*) FROM (
            SELECT FROM subscriptions WHERE app_id BETWEEN :app AND :app ORDER BY app_id, id LIMIT :limit) AS counted
        """)

    /// Adds or refreshes a subscription. A refresh keeps its progress. Returns the id of a new one.
    static let add = Statement(
        "subscription_add",
        """
        WITH made AS (
            INSERT INTO subscriptions AS known (app_id, watch_id, registration_id, version, mode, user_id, claims,
                has_all_claims, expires_at)
            VALUES (:app, :watch, :registration, 1, :mode, :user, :claims, :has_all_claims,
                \(now) + :lifetime_us * interval '1 microsecond')
            ON CONFLICT (watch_id, registration_id) WHERE version = 1 DO UPDATE SET mode = excluded.mode,
                user_id = excluded.user_id, claims = excluded.claims, has_all_claims = excluded.has_all_claims,
                expires_at = excluded.expires_at
            RETURNING id
        )
        INSERT INTO subscription_progress (subscription_id, sent_seq)
        SELECT made.id, w.seq FROM made JOIN watches w ON w.id = :watch
        ON CONFLICT DO NOTHING RETURNING subscription_id
        """)

    /// Refreshes a subscription of the live registration that holds a token, for the user who made it. Wake-up must be
    /// on, the rules must have the revision, the node must not be too heavy, and its watch must note what the mode asks
    /// for. Returns nothing if anything else has to be done.
    ///
    /// A former user of the device has no subscription to refresh: it ended with the change of the device's user.
    ///
    /// It keeps the same rows from changing as `isEnabled`, `watch`, `keepRules` and `keepRegistration` do. A text may be
    /// a token of two registrations: which one subscribes is not decided here.
    static let refresh = Statement(
        "subscription_refresh",
        """
        WITH held AS MATERIALIZED (
            SELECT r.id FROM unnest(:providers, :tokens, :kinds) AS input (provider, token, kind)
            \(RegistrationSQL.holding) WHERE r.kind = input.kind
        ), known AS MATERIALIZED (
            SELECT s.id
            FROM apps a JOIN watches w ON w.app_id = a.id AND w.path = :path
            JOIN subscriptions s ON s.watch_id = w.id AND s.version = 1
                AND s.registration_id = (SELECT max(id) FROM held HAVING count(*) = 1)
            JOIN registrations r ON r.id = s.registration_id
            WHERE a.id = :app AND a.deleted_at IS NULL
                AND coalesce((a.settings -> 'wakeup' ->> 'enabled')::boolean, false)
                AND w.weight_bytes <= :bytes_max AND w.weight_leaves <= :leaves_max
                AND (w.wants_value OR NOT :value) AND (w.wants_children OR NOT :children)
                AND (:revision IS NULL OR EXISTS (
                    SELECT FROM node_rules WHERE app_id = :app AND revision = :revision FOR SHARE))
                AND r.token = ANY (:tokens) AND r.state < \(RegistrationState.retired.sql)
            FOR SHARE OF a FOR KEY SHARE OF w FOR SHARE OF r
        )
        UPDATE subscriptions s SET mode = :mode, claims = :claims, has_all_claims = :has_all_claims,
            expires_at = \(now) + :lifetime_us * interval '1 microsecond'
        FROM known WHERE s.id = known.id AND s.user_id = :user RETURNING s.id
        """)

    /// The subscription of a registration to a path, and the user that made it.
    static let find = Statement(
        "subscription_find",
        """
        SELECT s.id, s.user_id
        FROM watches w JOIN subscriptions s
            ON s.watch_id = w.id AND s.registration_id = :registration AND s.version = 1
        WHERE w.app_id = :app AND w.path = :path
        """)

    /// Removes a subscription, unless another user has taken it over meanwhile.
    static let remove = Statement(
        "subscription_remove", "DELETE FROM subscriptions WHERE id = :subscription AND user_id = :user")
}

extension Query {
    /// Keeps the rules by which a device subscribes.
    init(keepingRulesOf request: SubscriptionStore.Request) {
        self.init(SubscriptionSQL.keepRules) {
            $0.int64("app", request.app.value)
            $0.int64("revision", request.rulesRevision)
        }
    }
}
