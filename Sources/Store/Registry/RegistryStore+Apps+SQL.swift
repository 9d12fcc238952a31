import Model
import Postgres

/// Apps and their routes.
package enum AppSQL {
    private static let columns = "id, slug, name, created_at, settings"

    static let create = Statement(
        "app_create", "INSERT INTO apps (slug, name) VALUES (:slug, :name) RETURNING \(columns)")

    static let list = Statement(
        "app_list", "SELECT \(columns) FROM apps WHERE id > :after AND deleted_at IS NULL ORDER BY id LIMIT :limit")

    static let bySlug = Statement(
        "app_by_slug", "SELECT \(columns) FROM apps WHERE slug = :slug AND deleted_at IS NULL")

    static let slug = Statement("app_slug", "SELECT slug FROM apps WHERE id = :app AND deleted_at IS NULL")

    /// A null name, and members that are missing in the objects, stay as they are.
    static let change = Statement(
        "app_change",
        """
        UPDATE apps SET name = coalesce(:name, name), settings = settings || jsonb_build_object(
            'stale_after_days', coalesce(settings -> 'stale_after_days', '{}') || :stale_after_days,
            'wakeup', coalesce(settings -> 'wakeup', '{}') || :wake_up,
            'triggers', coalesce(settings -> 'triggers', '{}') || :triggers || jsonb_build_object(
                'hooks', coalesce(settings -> 'triggers' -> 'hooks', '{}') || :trigger_hooks)) || :settings
        WHERE id = :app AND deleted_at IS NULL RETURNING \(columns)
        """)

    /// Keeps subscriptions from being made until the app is deleted.
    static let lock = Statement("app_lock", "SELECT FROM apps WHERE id = :app FOR NO KEY UPDATE")

    /// Frees the app's slug. If devices have to be told, the app keeps its credentials for as long as a provider may be
    /// away.
    static let delete = Statement(
        "app_delete",
        """
        UPDATE apps SET deleted_at = clock_timestamp(), slug = '~' || id, closing_until = CASE
            WHEN EXISTS (SELECT FROM revocations WHERE app_id = :app)
                OR EXISTS (SELECT FROM ended_subscriptions WHERE app_id = :app)
            THEN clock_timestamp() + interval '2 hours' END
        WHERE id = :app AND deleted_at IS NULL
        """)

    /// Nothing more is sent for the app, but notices that are still to be sent.
    static let retireCredentials = Statement(
        "app_retire_credentials",
        """
        UPDATE credentials SET state = \(CredentialState.retired.sql), retired_at = clock_timestamp()
        WHERE app_id = :app AND state < \(CredentialState.retired.sql)
            AND NOT EXISTS (SELECT FROM apps WHERE id = :app AND closing_until IS NOT NULL)
        """)

    /// Stops the messages of a deleted app, which its credentials could still send, but for wake-ups and notices.
    static let stopMessages = Statement(
        "app_stop_messages",
        """
        UPDATE messages SET state = \(MessageState.cancelled.sql) WHERE id = ANY (ARRAY(
            SELECT id FROM messages
            WHERE app_id = :app AND state < \(MessageState.finished.sql) AND origin = \(MessageOrigin.sender.sql)
            UNION ALL
            SELECT id FROM messages
            WHERE app_id = :app AND state < \(MessageState.finished.sql) AND origin = \(MessageOrigin.update.sql)))
        """)

    /// Adds a route of an app, unless there is one. Its parameters are `app`, `provider`, `environment` and `topic`.
    ///
    /// An existing route is left alone: no dead row per look-up.
    ///
    /// A new route gets its ordinal within the app, which `StoreFault.routesPerApp` bounds. Sibling routes that no
    /// client named have the number 0 and don't count. Two at once may get the same number: as many as race for the
    /// last place may pass the bound.
    package static let addRoute = Statement(
        "route_add",
        """
        INSERT INTO routes (app_id, provider, environment, topic, number)
        SELECT :app, :provider, :environment, :topic,
            (SELECT count(*) FROM routes WHERE app_id = :app AND number > 0) + 1
        WHERE NOT EXISTS (
            SELECT FROM routes
            WHERE app_id = :app AND provider = :provider AND environment = :environment AND topic = :topic)
        ON CONFLICT (app_id, provider, environment, topic) DO NOTHING
        """)

    static let findRoute = Statement(
        "route_find",
        """
        SELECT id FROM routes
        WHERE app_id = :app AND provider = :provider AND environment = :environment AND topic = :topic
        """)
}
