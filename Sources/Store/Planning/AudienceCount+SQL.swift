import Postgres

/// Statements that count an audience. The slices run under `PlannerSQL.throughKeys`, as they do when an audience is cut.
enum AudienceCountSQL {
    /// The horizon and the acceptance of a message that would be accepted now.
    static let start = Statement(
        "count_start", "SELECT (SELECT coalesce(max(id), 0) FROM registrations), coalesce(:now, now())")

    /// The members of an audience that names tokens: the registration that holds each token, or the token's place as a
    /// negative number, which is the id of no registration. It finds what `AudienceSQL.inline` finds, and writes nothing.
    static let tokens = Statement(
        "count_tokens",
        """
        SELECT coalesce(r.id, -named.place), named.provider
        FROM unnest(:providers, :tokens) WITH ORDINALITY AS named (provider, token, place)
        \(AudienceSQL.holder(of: "named"))
        """)

    /// The number of members of each provider, locale and time zone. A member that is gone meanwhile is not counted.
    static let members = Statement(
        "count_members",
        """
        SELECT r.provider, r.locale, r.time_zone, count(*)
        FROM unnest(:members) AS member (id) JOIN registrations r ON r.id = member.id
        GROUP BY r.provider, r.locale, r.time_zone
        """)
}
