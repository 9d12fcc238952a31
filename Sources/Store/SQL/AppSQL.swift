import Postgres

/// Apps and their routes.
enum AppSQL {
    static let create = Statement(
        "app_create", "INSERT INTO apps (slug, name) VALUES ($1, $2) RETURNING id, slug, name, created_at")

    /// $1 after which id, $2 how many.
    static let list = Statement(
        "app_list", "SELECT id, slug, name, created_at FROM apps WHERE id > $1 ORDER BY id LIMIT $2")

    static let bySlug = Statement("app_by_slug", "SELECT id, slug, name, created_at FROM apps WHERE slug = $1")

    /// $1 app, $2 provider, $3 environment, $4 topic. An existing route is left alone: no dead row per look-up.
    ///
    /// A new one gets its number in the app, which `StoreFault.routesPerApp` bounds. Two at once may get the same: the
    /// bound holds give or take as many as race for the last place.
    static let addRoute = Statement(
        "route_add",
        """
        INSERT INTO routes (app_id, provider, environment, topic, number)
        SELECT $1, $2, $3, $4, (SELECT count(*) FROM routes WHERE app_id = $1) + 1
        WHERE NOT EXISTS (SELECT FROM routes WHERE app_id = $1 AND provider = $2 AND environment = $3 AND topic = $4)
        ON CONFLICT (app_id, provider, environment, topic) DO NOTHING
        """)

    static let findRoute = Statement(
        "route_find",
        "SELECT id FROM routes WHERE app_id = $1 AND provider = $2 AND environment = $3 AND topic = $4")
}
