import Model
import Postgres

/// The removal of a deleted app, in the order of its steps. It runs under `PlannerSQL.throughKeys`.
enum AppRemovalSQL {
    /// Claims one app. No two processes claim the same. An app whose devices still have to be told comes later.
    static let claim = Statement(
        "app_removal_claim",
        """
        SELECT id FROM apps a WHERE deleted_at IS NOT NULL AND (
            closing_until IS NULL OR closing_until < clock_timestamp() OR NOT EXISTS (
                SELECT FROM revocations WHERE app_id = a.id
            ) AND NOT EXISTS (
                SELECT FROM ended_subscriptions WHERE app_id = a.id
            ) AND NOT EXISTS (
                SELECT FROM messages
                WHERE app_id = a.id AND origin > \(MessageOrigin.sender.sql) AND state < \(MessageState.finished.sql)))
        ORDER BY id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
        """)

    private static let plans = Statement(
        "app_removal_plans",
        """
        DELETE FROM plans WHERE message_id = ANY (ARRAY(
            SELECT m.id FROM messages m CROSS JOIN LATERAL (SELECT FROM plans WHERE message_id = m.id LIMIT 1) AS p
            WHERE m.app_id = :app AND m.state <> \(MessageState.finished.sql)
                AND m.origin = \(MessageOrigin.sender.sql)
            LIMIT :limit))
        """)

    private static let parcels = removingParcels("app_removal_parcels", "m.origin = \(MessageOrigin.sender.sql)")
    private static let wakeUpParcels = removingParcels(
        "app_removal_wake_up_parcels", "m.origin > \(MessageOrigin.sender.sql)")

    private static func removingParcels(_ name: String, _ which: String) -> Statement {
        Statement(
            name,
            """
            DELETE FROM parcels WHERE id = ANY (ARRAY(
                SELECT p.id FROM messages m
                CROSS JOIN LATERAL (SELECT id FROM parcels WHERE message_id = m.id LIMIT :limit) AS p
                WHERE m.app_id = :app AND m.state <> \(MessageState.finished.sql) AND \(which) LIMIT :limit))
            """)
    }

    private static let ownValues = Statement(
        "app_removal_own_values",
        """
        DELETE FROM own_values WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM own_values WHERE app_id BETWEEN :app AND :app
            ORDER BY app_id, message_id, first_member LIMIT least(:limit, \(OwnValueSQL.chunksPerSweepMax))))
        """)

    /// Removes a hundred messages at once, with their contents, audiences and history.
    private static let messages = removing("app_removal_messages", "origin = \(MessageOrigin.sender.sql)")
    private static let wakeUps = removing("app_removal_wake_ups", "origin > \(MessageOrigin.sender.sql)")

    private static func removing(_ name: String, _ which: String) -> Statement {
        Statement(
            name,
            """
            WITH gone AS MATERIALIZED (
                SELECT id FROM messages WHERE app_id BETWEEN :app AND :app AND \(which)
                ORDER BY app_id, id DESC LIMIT least(:limit, 100)),
            contents AS (DELETE FROM message_contents WHERE message_id = ANY (ARRAY(SELECT id FROM gone))),
            history AS (DELETE FROM push_history WHERE message_id = ANY (ARRAY(SELECT id FROM gone)))
            DELETE FROM messages WHERE id = ANY (ARRAY(SELECT id FROM gone))
            """)
    }

    private static let credentials = Statement(
        "app_removal_credentials",
        "DELETE FROM credentials WHERE id = ANY (ARRAY(SELECT id FROM credentials WHERE app_id = :app LIMIT :limit))")

    private static let routes = Statement(
        "app_removal_routes",
        "DELETE FROM routes WHERE id = ANY (ARRAY(SELECT id FROM routes WHERE app_id = :app LIMIT :limit))")

    private static let changes = Statement(
        "app_removal_changes",
        """
        DELETE FROM watch_changes WHERE ctid = ANY (ARRAY(
            SELECT c.ctid FROM watches w
            CROSS JOIN LATERAL (SELECT ctid FROM watch_changes WHERE watch_id = w.id LIMIT :limit) AS c
            WHERE w.app_id = :app LIMIT :limit))
        """)

    private static let nodes = Statement(
        "app_removal_nodes",
        """
        DELETE FROM nodes WHERE app_id = :app AND path = ANY (ARRAY(
            SELECT path FROM nodes WHERE app_id BETWEEN :app AND :app ORDER BY app_id, path LIMIT :limit))
        """)

    /// Removes rows of a table along its index that begins with the app.
    private static func removal(of table: String, by key: String = "id", along order: String) -> Statement {
        Statement(
            "app_removal_\(table)",
            """
            DELETE FROM \(table) WHERE \(key) = ANY (ARRAY(
                SELECT \(key) FROM \(table) WHERE app_id BETWEEN :app AND :app ORDER BY app_id, \(order) LIMIT :limit))
            """)
    }

    /// The steps before the app itself. Subscriptions to data go with their registrations. Subscriptions to items go
    /// before these: a device may have a thousand.
    static let steps = [
        plans, parcels, wakeUpParcels, ownValues, messages, wakeUps, removal(of: "item_subscriptions", along: "id"),
        removal(of: "registrations", along: "installation, kind"),
        removal(of: "item_due", by: "item_id", along: "due_at"), removal(of: "items", along: "name"),
        removal(of: "push_templates", along: "sha256"), removal(of: "update_producers", by: "ctid", along: "producer"),
        removal(of: "revocations", along: "id"), removal(of: "ended_subscriptions", along: "id"),
        removal(of: "due_watches", by: "watch_id", along: "due_at"), changes, removal(of: "watches", along: "path"),
        nodes, removal(of: "feedback", along: "installation"),
        removal(of: "idempotency_keys", by: "ctid", along: "operation, key"), credentials, routes,
    ]

    /// Rows that races left behind go with it.
    static let app = Statement("app_removal_app", "DELETE FROM apps WHERE id = :app AND deleted_at IS NOT NULL")
}
