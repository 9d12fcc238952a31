import Model
import Postgres

/// The removal of a deleted app, in the order of its steps. It runs under `PlannerSQL.throughKeys`.
enum AppRemovalSQL {
    /// Claims one app. No two processes claim the same.
    static let claim = Statement(
        "app_removal_claim",
        "SELECT id FROM apps WHERE deleted_at IS NOT NULL ORDER BY id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED")

    private static let plans = Statement(
        "app_removal_plans",
        """
        DELETE FROM plans WHERE message_id = ANY (ARRAY(
            SELECT m.id FROM messages m CROSS JOIN LATERAL (SELECT FROM plans WHERE message_id = m.id LIMIT 1) AS p
            WHERE m.app_id = :app AND m.state <> \(MessageState.finished.sql) LIMIT :limit))
        """)

    private static let parcels = Statement(
        "app_removal_parcels",
        """
        DELETE FROM parcels WHERE id = ANY (ARRAY(
            SELECT p.id FROM messages m
            CROSS JOIN LATERAL (SELECT id FROM parcels WHERE message_id = m.id LIMIT :limit) AS p
            WHERE m.app_id = :app AND m.state <> \(MessageState.finished.sql) LIMIT :limit))
        """)

    /// Removes a hundred messages at once, with their contents, audiences and history.
    private static let messages = Statement(
        "app_removal_messages",
        """
        WITH gone AS MATERIALIZED (
            SELECT id FROM messages WHERE app_id BETWEEN :app AND :app
            ORDER BY app_id, id DESC LIMIT least(:limit, 100)),
        contents AS (DELETE FROM message_contents WHERE message_id = ANY (ARRAY(SELECT id FROM gone))),
        history AS (DELETE FROM push_history WHERE message_id = ANY (ARRAY(SELECT id FROM gone)))
        DELETE FROM messages WHERE id = ANY (ARRAY(SELECT id FROM gone))
        """)

    private static let registrations = Statement(
        "app_removal_registrations",
        """
        DELETE FROM registrations WHERE id = ANY (ARRAY(
            SELECT id FROM registrations WHERE app_id BETWEEN :app AND :app
            ORDER BY app_id, installation, kind LIMIT :limit))
        """)

    private static let feedback = Statement(
        "app_removal_feedback",
        """
        DELETE FROM feedback WHERE id = ANY (ARRAY(
            SELECT id FROM feedback WHERE app_id BETWEEN :app AND :app ORDER BY app_id, installation LIMIT :limit))
        """)

    private static let idempotencyKeys = Statement(
        "app_removal_idempotency_keys",
        """
        DELETE FROM idempotency_keys WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM idempotency_keys WHERE app_id BETWEEN :app AND :app
            ORDER BY app_id, operation, key LIMIT :limit))
        """)

    private static let credentials = Statement(
        "app_removal_credentials",
        "DELETE FROM credentials WHERE id = ANY (ARRAY(SELECT id FROM credentials WHERE app_id = :app LIMIT :limit))")

    private static let routes = Statement(
        "app_removal_routes",
        "DELETE FROM routes WHERE id = ANY (ARRAY(SELECT id FROM routes WHERE app_id = :app LIMIT :limit))")

    /// The steps before the app itself.
    static let steps = [plans, parcels, messages, registrations, feedback, idempotencyKeys, credentials, routes]

    /// Rows that races left behind go with it.
    static let app = Statement("app_removal_app", "DELETE FROM apps WHERE id = :app AND deleted_at IS NOT NULL")
}
