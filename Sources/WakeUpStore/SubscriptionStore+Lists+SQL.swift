import Model
import Postgres

/// Lists of subscriptions, one bounded scan at a time. They run under `PlannerSQL.throughKeys`.
///
/// Each scan goes along an index from a position on and says of each row whether it is asked for. The position is
/// compared as a row, so that no other index gives the order.
enum SubscriptionListSQL {
    // Whether the row is asked for. Each value may be null: any.
    private static let isAskedFor = """
        (:user IS NULL OR s.user_id = :user)
            AND (:path IS NULL OR s.watch_id = (SELECT id FROM watches WHERE app_id = :app AND path = :path))
            AND (:state IS NULL OR :state = \(state))
        """

    // The number of the row's state (`SubscriptionState`).
    private static let state = """
        CASE WHEN s.expires_at <= clock_timestamp() THEN \(SubscriptionState.expired.column)
                WHEN (SELECT state FROM registrations WHERE id = s.registration_id) = \(RegistrationState.retired.sql)
                THEN \(SubscriptionState.dormant.column) ELSE \(SubscriptionState.active.column) END
        """

    static func statement(_ scan: SubscriptionScan) -> Statement {
        Statement(
            "subscriptions_\(name(of: scan))", "SELECT \(isAskedFor), s.id, s.registration_id FROM \(rows(along: scan))"
        )
    }

    private static func name(of scan: SubscriptionScan) -> String {
        switch scan {
        case .ofApp: "of_app"
        case .ofWatch: "of_watch"
        case .ofInstallation: "of_installation"
        case .ofUser: "of_user"
        }
    }

    private static func rows(along scan: SubscriptionScan) -> String {
        switch scan {
        case .ofApp:
            """
            (SELECT * FROM subscriptions WHERE (app_id, id) > (:app, :after) AND app_id <= :app
                ORDER BY app_id, id LIMIT :limit) AS s
            """
        case .ofWatch:
            """
            (SELECT id FROM watches WHERE app_id = :app AND path = :path) AS w
            CROSS JOIN LATERAL (
                SELECT * FROM subscriptions
                WHERE (watch_id, registration_id, id) > (w.id, :after_registration, :after) AND watch_id <= w.id
                ORDER BY watch_id, registration_id, id LIMIT :limit) AS s
            """
        // An installation has few tokens, and each has few subscriptions.
        case .ofInstallation:
            """
            (SELECT own.* FROM registrations r
            CROSS JOIN LATERAL (
                SELECT * FROM subscriptions
                WHERE (registration_id, id) > (r.id, :after) AND registration_id <= r.id
                ORDER BY registration_id, id LIMIT :limit) AS own
            WHERE r.app_id = :app AND r.installation = :installation
            ORDER BY own.id LIMIT :limit) AS s
            """
        case .ofUser:
            """
            (SELECT * FROM subscriptions
                WHERE app_id = :app AND (user_id, id) > (:user, :after) AND user_id <= :user AND user_id <> ''
                ORDER BY user_id, id LIMIT :limit) AS s
            """
        }
    }

    /// Returns a row for each subscription that is still there, in this order.
    static let records = Statement(
        "subscriptions_records",
        """
        SELECT s.id, w.path, r.installation, r.kind, r.provider, s.mode, nullif(s.user_id, ''),
            s.expires_at <= clock_timestamp(), r.state = \(RegistrationState.retired.sql), s.expires_at, s.created_at,
            p.sent_seq < w.seq, p.message_id
        FROM unnest(:subscriptions) WITH ORDINALITY AS asked (id, place)
        CROSS JOIN LATERAL (SELECT * FROM subscriptions WHERE id = asked.id AND app_id = :app LIMIT 1) AS s
        CROSS JOIN LATERAL (SELECT path, seq FROM watches WHERE id = s.watch_id LIMIT 1) AS w
        CROSS JOIN LATERAL (
            SELECT installation, kind, provider, state FROM registrations WHERE id = s.registration_id LIMIT 1
        ) AS r
        CROSS JOIN LATERAL (
            SELECT sent_seq, message_id FROM subscription_progress WHERE subscription_id = s.id LIMIT 1
        ) AS p
        ORDER BY asked.place
        """)
}
