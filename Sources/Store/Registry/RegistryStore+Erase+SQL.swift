import Postgres

/// The erasure of a person. It runs under `PlannerSQL.throughKeys`.
enum EraseSQL {
    /// Locks, in id order, the user's rows, and those of the same installations that name no user.
    static let ofUser = Statement(
        "erase_find",
        """
        SELECT id, installation FROM registrations WHERE id = ANY (ARRAY(
            SELECT id FROM (
                SELECT id FROM registrations WHERE app_id = :app AND user_id BETWEEN :user AND :user
                ORDER BY user_id, id LIMIT :limit) AS named
            UNION
            SELECT mate.id FROM (
                SELECT installation FROM registrations WHERE app_id = :app AND user_id BETWEEN :user AND :user
                ORDER BY user_id, id LIMIT :limit) AS own
            CROSS JOIN LATERAL (
                SELECT id FROM registrations
                WHERE app_id = :app AND installation = own.installation AND user_id IS NULL LIMIT \(kindsMax)) AS mate))
        ORDER BY id FOR UPDATE
        """)

    // Above the number of kinds.
    private static let kindsMax = 64

    static let erase = Statement("erase_registrations", "DELETE FROM registrations WHERE id = ANY (:registrations)")

    /// Subscriptions that the user's token made, on devices of any user.
    static let subscriptions = Statement(
        "erase_subscriptions",
        """
        DELETE FROM subscriptions WHERE id = ANY (ARRAY(
            SELECT id FROM subscriptions WHERE app_id = :app AND user_id BETWEEN :user AND :user AND user_id <> ''
            ORDER BY user_id, id LIMIT :limit))
        """)

    /// The notes that the user had devices which others have now.
    static let formerUsers = Statement(
        "erase_former_users",
        """
        DELETE FROM former_users WHERE ctid = ANY (ARRAY(
            SELECT ctid FROM former_users WHERE app_id = :app AND user_id BETWEEN :user AND :user
            ORDER BY user_id, registration_id LIMIT :limit))
        """)

    /// Takes each installation once. All its rows get one random name. Counts by device stay what they were, and the
    /// name leads back to no device.
    static let pseudonymise = Statement(
        "erase_names",
        """
        WITH drawn AS MATERIALIZED (
            SELECT input.installation, 'erased-' || gen_random_uuid() AS name
            FROM unnest(:installations) AS input (installation)
        )
        UPDATE feedback f
        SET installation = (SELECT drawn.name FROM drawn WHERE drawn.installation = f.installation)
        WHERE f.app_id = :app AND f.installation = ANY (:installations)
        """)
}
