import Model
import Postgres
import Store
import WakeUpRules

extension FanOutStore {
    /// Orders the end of subscriptions that exist now, as an operator asks. Their notices follow in the background.
    ///
    /// - Parameters:
    ///   - path: nil: any.
    ///   - state: nil: any.
    package func order(endOf path: NodePath?, _ state: SubscriptionState?, app: AppID) async throws(StoreFault) {
        let order = Query(RevocationOrderSQL.order) {
            $0.int64("app", app.value)
            $0.text("path", path?.text)
            $0.int16("state", state?.column)
        }
        _ = try await translated(await pool.runThroughKeys(order))
    }
}

/// Jobs that an operator orders, and those that make room. They run under `PlannerSQL.throughKeys`.
enum RevocationOrderSQL {
    private static let now = "coalesce(:now, clock_timestamp())"

    /// Orders the end of the subscriptions that exist now, of a path or of all, and of a state or of any. The same order
    /// starts again.
    static let order = Statement(
        "revocation_order",
        """
        WITH asked AS MATERIALIZED (
            SELECT a.id AS app_id, a.slug, w.id AS watch_id,
                (SELECT max(id) FROM subscriptions WHERE app_id = a.id) AS through_id
            FROM apps a LEFT JOIN watches w ON w.app_id = a.id AND w.path = :path
            WHERE a.id = :app AND a.deleted_at IS NULL AND (:path IS NULL OR w.id IS NOT NULL)
        ), widened AS (
            UPDATE revocations r SET through_id = asked.through_id, after_id = 0 FROM asked
            WHERE r.app_id = asked.app_id AND r.kind = \(RevocationKind.ordered.sql) AND asked.through_id IS NOT NULL
                AND r.watch_id IS NOT DISTINCT FROM asked.watch_id AND r.state IS NOT DISTINCT FROM :state
            RETURNING r.id
        )
        INSERT INTO revocations (app_id, watch_id, reason, slug, through_id, kind, state)
        SELECT app_id, watch_id, \(RevocationReason.permissionDenied.sql), slug, through_id,
            \(RevocationKind.ordered.sql), :state
        FROM asked WHERE through_id IS NOT NULL AND NOT EXISTS (SELECT FROM widened)
        """)

    // An unproven token of the app `a` that is so since then has had its time.
    private static let longAgo = """
        \(now) - coalesce((a.settings -> 'wakeup' ->> 'unproven_hours')::integer, \(WakeUpSettings().unprovenHours))
            * interval '1 hour'
        """

    /// Orders the end of subscriptions whose tokens are unproven for longer than the app allows, if there are any.
    static let endUnproven = Statement(
        "revocation_of_unproven",
        """
        INSERT INTO revocations (app_id, reason, slug, through_id, kind, ends_at_most)
        SELECT a.id, \(RevocationReason.expired.sql), a.slug, 0, \(RevocationKind.unproven.sql), :at_most
        FROM apps a
        WHERE a.id = :app AND a.deleted_at IS NULL
            AND NOT EXISTS (
                SELECT FROM revocations WHERE app_id = :app AND kind = \(RevocationKind.unproven.sql))
            AND EXISTS (SELECT FROM unproven_subscribers WHERE app_id = a.id AND since <= \(longAgo))
        """)

    /// The tokens of an app that are unproven for too long, those that are so for longest first.
    static let unproven = Statement(
        "revocation_unproven",
        """
        SELECT u.registration_id FROM apps a
        CROSS JOIN LATERAL (
            SELECT registration_id FROM unproven_subscribers
            WHERE (app_id, since) >= (a.id, '-infinity') AND (app_id, since) <= (a.id, \(longAgo))
            ORDER BY app_id, since, registration_id LIMIT :limit
        ) AS u
        WHERE a.id = :app
        """)

    /// Lets these tokens count as new where they have no subscription left.
    static let renewUnproven = Statement(
        "revocation_renew_unproven",
        """
        UPDATE unproven_subscribers u SET since = \(now)
        WHERE registration_id = ANY (:registrations)
            AND NOT EXISTS (SELECT FROM subscriptions WHERE registration_id = u.registration_id)
        """)

    static let reduce = Statement(
        "revocation_reduce", "UPDATE revocations SET ends_at_most = ends_at_most - :ended WHERE id = :job")

    /// The next subscriptions of an operator's order for one path.
    static let ofPath = Statement(
        "revocation_path_next",
        RevocationSQL.reading(
            """
            SELECT * FROM subscriptions
            WHERE (watch_id, registration_id) > (:watch, :after) AND watch_id <= :watch AND id <= :through
            ORDER BY watch_id, registration_id, id
            """, waits: true))

    /// The subscriptions of these tokens.
    static let ofRegistrations = Statement(
        "revocation_registrations_next",
        RevocationSQL.reading(
            "SELECT * FROM subscriptions WHERE registration_id = ANY (:registrations) ORDER BY registration_id, id",
            waits: true))
}

extension Query {
    /// Orders the end of subscriptions of an app whose tokens have been unproven for too long.
    init(endingUnprovenOf app: AppID, atMost: Int64) {
        self.init(RevocationOrderSQL.endUnproven) {
            $0.int64("app", app.value)
            $0.int64("at_most", atMost)
            $0.instant("now", nil)
        }
    }
}
