import Postgres

/// Changes of stored registrations that leave the token alone. They run under `PlannerSQL.throughKeys`.
enum PatchSQL {
    /// Locks in id order the installation's registration of a kind, or of every kind (null).
    static let lock = Statement(
        "patch_lock",
        """
        SELECT id, \(ProfileSQL.columns) FROM registrations
        WHERE app_id = :app AND installation = :installation AND (:kind IS NULL OR kind = :kind)
        ORDER BY id FOR NO KEY UPDATE
        """)

    static let write = Statement(
        "patch_write",
        """
        UPDATE registrations r SET \(ProfileSQL.assignments)
        FROM unnest(:registrations, \(ProfileSQL.arrays)) AS input (id, \(ProfileSQL.columns))
        WHERE r.id = input.id
        """)
}
