import Model
import Postgres
import Store
import WakeUpRules

/// The end of subscriptions that nobody asked to end. It runs under `PlannerSQL.throughKeys`.
enum RevocationSQL {
    private static let now = "coalesce(:now, clock_timestamp())"

    /// Orders the end of a watch's subscriptions that exist now, if its node is still too heavy, and unless that is
    /// ordered already. Later ones were made because the node had become lighter.
    static let revokeWatch = Statement(
        "revocation_of_watch",
        """
        WITH heavy AS MATERIALIZED (
            SELECT (SELECT max(id) FROM subscriptions WHERE app_id = :app) AS through_id
            FROM watches WHERE id = :watch AND (weight_bytes > :bytes_max OR weight_leaves > :leaves_max)
        )
        INSERT INTO revocations (app_id, watch_id, reason, slug, through_id)
        SELECT :app, :watch, :reason, :slug, through_id FROM heavy
        WHERE through_id IS NOT NULL AND NOT EXISTS (
            SELECT FROM revocations r
            WHERE r.app_id = :app AND r.watch_id = :watch AND r.kind = \(RevocationKind.caused.sql)
                AND r.through_id >= heavy.through_id)
        """)

    /// Claims a job. Apps take turns, beginning after the last one; there are few jobs.
    static let claim = Statement(
        "revocation_claim",
        """
        SELECT id, app_id, watch_id, reason, slug, through_id, after_id, kind, state, ends_at_most
        FROM revocations ORDER BY app_id <= :last_app, app_id, id LIMIT 1 FOR UPDATE SKIP LOCKED
        """)

    private static let columns = """
        s.id, s.watch_id, s.app_id, w.path, a.slug, a.settings, s.registration_id, r.route_id, r.provider,
            r.state = \(RegistrationState.retired.sql), s.claims, s.has_all_claims, s.expires_at <= clock_timestamp()
        """

    // A job waits for locked rows, because it never comes back to those that it has passed.
    static func reading(_ found: String, waits: Bool) -> String {
        """
        WITH found AS MATERIALIZED (\(found) LIMIT :limit FOR UPDATE\(waits ? "" : " SKIP LOCKED"))
        SELECT \(columns)
        FROM found s
        CROSS JOIN LATERAL (SELECT path FROM watches WHERE id = s.watch_id LIMIT 1) AS w
        CROSS JOIN LATERAL (SELECT slug, settings FROM apps WHERE id = s.app_id LIMIT 1) AS a
        CROSS JOIN LATERAL (SELECT route_id, provider, state FROM registrations WHERE id = s.registration_id LIMIT 1) AS r
        ORDER BY s.id
        """
    }

    /// Expired subscriptions, those that expired first. Those of a deleted app belong to its job.
    static let expired = Statement(
        "revocation_expired",
        reading(
            """
            SELECT * FROM subscriptions s WHERE expires_at <= coalesce(:now, now())
                AND NOT EXISTS (SELECT FROM apps WHERE id = s.app_id AND deleted_at IS NOT NULL)
            ORDER BY expires_at, id
            """, waits: false))

    /// Subscriptions that ended with their registration's former user. A removed device gets no notice.
    static let ended = Statement(
        "revocation_ended",
        """
        WITH found AS MATERIALIZED (
            SELECT * FROM ended_subscriptions ORDER BY id LIMIT :limit FOR UPDATE SKIP LOCKED
        )
        SELECT s.id, s.watch_id, s.app_id, s.path, s.slug, a.settings, s.registration_id, coalesce(r.route_id, 0),
            coalesce(r.provider, \(Provider.allCases[0].sql)::smallint), coalesce(r.state = \(RegistrationState.retired.sql), true),
            NULL::jsonb, false, false
        FROM found s
        CROSS JOIN LATERAL (SELECT settings FROM apps WHERE id = s.app_id LIMIT 1) AS a
        LEFT JOIN LATERAL (
            SELECT route_id, provider, state FROM registrations WHERE id = s.registration_id LIMIT 1
        ) AS r ON true
        ORDER BY s.id
        """)

    static let forgetEnded = Statement(
        "revocation_forget_ended", "DELETE FROM ended_subscriptions WHERE id = ANY (:subscriptions)")

    /// The next subscriptions of an app's job.
    static let ofApp = Statement(
        "revocation_app_next",
        reading(
            """
            SELECT * FROM subscriptions
            WHERE (app_id, id) > (:app, :after) AND (app_id, id) <= (:app, :through) ORDER BY app_id, id
            """, waits: true))

    /// The next subscriptions of a watch's job.
    static let ofWatch = Statement(
        "revocation_watch_next",
        reading(
            """
            SELECT * FROM subscriptions WHERE watch_id BETWEEN :watch AND :watch AND id <= :through
            ORDER BY watch_id, registration_id, id
            """, waits: true))

    /// One subscription of an app.
    static let ofOne = Statement(
        "revocation_one",
        reading("SELECT * FROM subscriptions WHERE id = :subscription AND app_id = :app", waits: true))

    static let advance = Statement("revocation_advance", "UPDATE revocations SET after_id = :after WHERE id = :job")

    static let end = Statement("revocation_end", "DELETE FROM revocations WHERE id = :job")
}
