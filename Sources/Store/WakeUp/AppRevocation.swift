import Model
import Postgres
import WakeUpRules

/// Why a job ends subscriptions. The number is stored with the job.
package enum RevocationKind: Int16, Sendable {
    /// The app's settings, its rules or its data.
    case caused = 1
    /// An operator's order.
    case ordered = 2
    /// The app has too many, and their tokens are unproven.
    case unproven = 3
}

/// The order to end all subscriptions of an app. Changes of the app itself give it too, so it stands beside the registry.
enum AppRevocationSQL {
    /// Orders the end of all subscriptions of an app that exist now. A job with the same reason starts again.
    static let order = Statement(
        "revocation_of_app",
        """
        WITH last AS MATERIALIZED (
            SELECT a.id AS app_id, a.slug, (SELECT max(id) FROM subscriptions WHERE app_id = a.id) AS id
            FROM apps a WHERE a.id = :app AND a.deleted_at IS NULL
        ), widened AS (
            UPDATE revocations r SET through_id = last.id, after_id = 0 FROM last
            WHERE r.app_id = last.app_id AND r.reason = :reason AND r.watch_id IS NULL AND last.id IS NOT NULL
                AND r.kind = \(RevocationKind.caused.sql)
            RETURNING r.id
        )
        INSERT INTO revocations (app_id, reason, slug, through_id)
        SELECT app_id, :reason, slug, id FROM last
        WHERE id IS NOT NULL AND NOT EXISTS (SELECT FROM widened)
        """)
}

extension Query {
    /// Orders the end of all subscriptions of an app, or a check of each of them if the reason is `.permissionDenied`.
    /// They end in the background, each with a notice to its device.
    package init(revoking app: AppID, _ reason: RevocationReason) {
        self.init(AppRevocationSQL.order) {
            $0.int64("app", app.value)
            $0.int16("reason", reason.rawValue)
        }
    }
}
