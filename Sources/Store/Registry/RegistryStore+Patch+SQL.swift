import Postgres

/// Changes of stored registrations that leave the token alone. They run under `PlannerSQL.throughKeys`.
enum PatchSQL {
    /// Locks in id order the installation's registration of a kind, or of every kind (null).
    static let lock = Statement(
        "patch_lock",
        """
        SELECT id, user_id, locale, time_zone, app_version, tags, attributes FROM registrations
        WHERE app_id = :app AND installation = :installation AND (:kind IS NULL OR kind = :kind)
        ORDER BY id FOR NO KEY UPDATE
        """)

    /// Takes tags as array literals.
    static let write = Statement(
        "patch_write",
        """
        UPDATE registrations r SET user_id = input.user_id, locale = input.locale, time_zone = input.time_zone,
            app_version = input.app_version, tags = input.tags::text[], attributes = input.attributes
        FROM unnest(:registrations, :users, :locales, :time_zones, :app_versions, :tags, :attributes)
            AS input (id, user_id, locale, time_zone, app_version, tags, attributes)
        WHERE r.id = input.id
        """)
}
