import Postgres

/// The erasure of a person. It runs under `PlannerSQL.throughKeys`.
enum EraseSQL {
    /// $1 app, $2 user, $3 rows at most. Locks, in id order, the user's rows, and those of the same installations that
    /// name no user.
    static let ofUser = Statement(
        "erase_find",
        """
        SELECT id, installation FROM registrations WHERE id = ANY (ARRAY(
            SELECT id FROM (
                SELECT id FROM registrations WHERE app_id = $1 AND user_id BETWEEN $2 AND $2
                ORDER BY user_id, id LIMIT $3) AS named
            UNION
            SELECT mate.id FROM (
                SELECT installation FROM registrations WHERE app_id = $1 AND user_id BETWEEN $2 AND $2
                ORDER BY user_id, id LIMIT $3) AS own
            CROSS JOIN LATERAL (
                SELECT id FROM registrations
                WHERE app_id = $1 AND installation = own.installation AND user_id IS NULL LIMIT \(kindsMax)) AS mate))
        ORDER BY id FOR UPDATE
        """)

    // Above the number of kinds.
    private static let kindsMax = 64

    static let erase = Statement("erase_registrations", "DELETE FROM registrations WHERE id = ANY ($1)")

    /// $1 app, $2 installations, each once. All rows of an installation get one random name. Counts by device stay what
    /// they were, and the name leads back to no device.
    static let pseudonymise = Statement(
        "erase_names",
        """
        WITH drawn AS MATERIALIZED (
            SELECT said.installation, 'erased-' || gen_random_uuid() AS name FROM unnest($2) AS said (installation)
        )
        UPDATE feedback f
        SET installation = (SELECT drawn.name FROM drawn WHERE drawn.installation = f.installation)
        WHERE f.app_id = $1 AND f.installation = ANY ($2)
        """)
}
