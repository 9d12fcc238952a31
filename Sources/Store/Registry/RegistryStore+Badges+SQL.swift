import Postgres

/// Badges, by the registration's name or by its token.
enum BadgeSQL {
    private static let place = """
        p.registration_id = (
            SELECT id FROM registrations WHERE app_id = :app AND installation = :installation AND kind = :kind)
        """

    static let read = Statement("badge_read", "SELECT p.badge FROM registration_pulse p WHERE \(place)")

    /// The number of a new set (decision 0073). A statement draws it for each row while it holds the row: PostgreSQL
    /// computes a row's new values once more if it had to wait for a change.
    static let newSet = "nextval('badge_sets')"

    private static let isSet = "badge = :badge, raised = 0, badge_set = \(newSet)"

    static let set = Statement("badge_set", "UPDATE registration_pulse p SET \(isSet) WHERE \(place) RETURNING p.badge")

    static let consume = Statement(
        "badge_consume", "UPDATE registration_pulse p SET \(consumed) WHERE \(place) RETURNING p.badge")

    // A badge that is consumed entirely is set to 0.
    private static let consumed = """
        badge = greatest(p.badge - :count, 0), raised = least(p.raised, greatest(p.badge - :count, 0)),
            badge_set = CASE WHEN p.badge > :count THEN p.badge_set ELSE \(newSet) END
        """

    /// Sets the badges of a page of a user's registrations, by rising id. Runs under `PlannerSQL.throughKeys`.
    ///
    /// Returns how many of the page have the kind, and its last id; null: it was the last page.
    static let setOfUser = Statement(
        "badge_set_of_user",
        """
        WITH page AS MATERIALIZED (
            SELECT id, kind FROM registrations
            WHERE app_id = :app AND (user_id, id) > (:user, :after) AND user_id <= :user
            ORDER BY user_id, id LIMIT :limit
        ), written AS (
            UPDATE registration_pulse p SET \(isSet)
            FROM page WHERE p.registration_id = page.id AND page.kind = :kind
            RETURNING p.registration_id
        )
        SELECT (SELECT count(*) FROM written), (SELECT max(id) FROM page HAVING count(*) = :limit)
        """)

    // The registration that holds the token, of the first provider that has one.
    private static let locked = """
        WITH held AS MATERIALIZED (
            SELECT r.id, r.installation, r.kind
            FROM unnest(:providers, :tokens) WITH ORDINALITY AS input (provider, token, place)
            \(RegistrationSQL.holding)
            ORDER BY input.place LIMIT 1
        )
        """

    /// Runs under `PlannerSQL.throughKeys`, as `consumeByToken` does.
    static let setByToken = Statement(
        "badge_set_by_token",
        """
        \(locked)
        UPDATE registration_pulse p SET \(isSet) FROM held WHERE p.registration_id = held.id
        RETURNING p.badge, held.installation, held.kind
        """)

    static let consumeByToken = Statement(
        "badge_consume_by_token",
        """
        \(locked)
        UPDATE registration_pulse p SET \(consumed)
        FROM held WHERE p.registration_id = held.id
        RETURNING p.badge, held.installation, held.kind
        """)
}
