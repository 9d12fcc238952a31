import Postgres

/// Changes of stored registrations that leave the token alone. They run under `PlannerSQL.throughKeys`.
enum PatchSQL {
    /// $1 app, $2 installation, $3 kind (null: every kind). Locks in id order.
    static let lock = Statement(
        "patch_lock",
        """
        SELECT id, user_id, locale, time_zone, app_version, tags, attributes FROM registrations
        WHERE app_id = $1 AND installation = $2 AND ($3 IS NULL OR kind = $3) ORDER BY id FOR NO KEY UPDATE
        """)

    /// $1 ids, $2 users, $3 locales, $4 time zones, $5 app versions, $6 tags as array literals, $7 attributes.
    static let write = Statement(
        "patch_write",
        """
        UPDATE registrations r SET user_id = said.user_id, locale = said.locale, time_zone = said.time_zone,
            app_version = said.app_version, tags = said.tags::text[], attributes = said.attributes
        FROM unnest($1, $2, $3, $4, $5, $6, $7) AS said (id, user_id, locale, time_zone, app_version, tags, attributes)
        WHERE r.id = said.id
        """)
}
