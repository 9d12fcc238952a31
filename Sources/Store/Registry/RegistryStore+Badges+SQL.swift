import Postgres

/// Badges: $1 app, $2 installation, $3 kind name the registration.
enum BadgeSQL {
    private static let place = """
        p.registration_id = (SELECT id FROM registrations WHERE app_id = $1 AND installation = $2 AND kind = $3)
        """

    static let read = Statement("badge_read", "SELECT p.badge FROM registration_pulse p WHERE \(place)")

    /// $4 badge.
    static let set = Statement(
        "badge_set", "UPDATE registration_pulse p SET badge = $4 WHERE \(place) RETURNING p.badge")

    /// $4 count.
    static let consume = Statement(
        "badge_consume",
        "UPDATE registration_pulse p SET badge = greatest(p.badge - $4, 0) WHERE \(place) RETURNING p.badge")

    // The registration that holds the token, of the first provider that has one: $1 app, $2 providers, $3 tokens.
    private static let locked = """
        WITH held AS MATERIALIZED (
            SELECT r.id, r.installation, r.kind FROM unnest($2, $3) WITH ORDINALITY AS said (provider, token, place)
            \(RegistrationSQL.holding)
            ORDER BY said.place LIMIT 1
        )
        """

    /// $4 badge. Runs under `PlannerSQL.throughKeys`, as `consumeByToken` does.
    static let setByToken = Statement(
        "badge_set_by_token",
        """
        \(locked)
        UPDATE registration_pulse p SET badge = $4 FROM held WHERE p.registration_id = held.id
        RETURNING p.badge, held.installation, held.kind
        """)

    /// $4 count.
    static let consumeByToken = Statement(
        "badge_consume_by_token",
        """
        \(locked)
        UPDATE registration_pulse p SET badge = greatest(p.badge - $4, 0) FROM held WHERE p.registration_id = held.id
        RETURNING p.badge, held.installation, held.kind
        """)
}
