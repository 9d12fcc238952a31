import Postgres

/// Apps and their routes.
enum AppSQL {
    // Columns in the order of `AppRecord.init(reading:row:)`.
    private static let columns = "id, slug, name, created_at, settings"

    static let create = Statement(
        "app_create", "INSERT INTO apps (slug, name) VALUES ($1, $2) RETURNING \(columns)")

    /// $1 id to go on behind, $2 rows at most.
    static let list = Statement(
        "app_list", "SELECT \(columns) FROM apps WHERE id > $1 AND deleted_at IS NULL ORDER BY id LIMIT $2")

    static let bySlug = Statement(
        "app_by_slug", "SELECT \(columns) FROM apps WHERE slug = $1 AND deleted_at IS NULL")

    /// $1 app.
    static let slug = Statement("app_slug", "SELECT slug FROM apps WHERE id = $1 AND deleted_at IS NULL")

    /// $1 app, $2 name (null: unchanged), $3 changed members of `stale_after_days`, $4 other changed settings.
    static let change = Statement(
        "app_change",
        """
        UPDATE apps SET name = coalesce($2, name), settings = jsonb_set(settings, '{stale_after_days}',
            coalesce(settings -> 'stale_after_days', '{}') || $3) || $4
        WHERE id = $1 AND deleted_at IS NULL RETURNING \(columns)
        """)

    /// $1 app. Frees its slug.
    static let delete = Statement(
        "app_delete",
        "UPDATE apps SET deleted_at = clock_timestamp(), slug = '~' || id WHERE id = $1 AND deleted_at IS NULL")

    /// $1 app. Nothing more is sent for it.
    static let retireCredentials = Statement(
        "app_retire_credentials",
        "UPDATE credentials SET state = 3, retired_at = clock_timestamp() WHERE app_id = $1 AND state < 3")

    /// An existing route is left alone: no dead row per look-up.
    ///
    /// A new route gets its ordinal within the app, which `StoreFault.routesPerApp` bounds. Sibling routes that no
    /// client named have the number 0 and don't count. Two at once may get the same number: as many as race for the
    /// last place may pass the bound.
    static let addRoute = Statement(
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
