import Model
import Postgres

/// Statements that check whether the members of a leased parcel still meet the conditions of their message's audience.
enum AudienceCheckSQL {
    /// Whether the audience of `message` is users, tags or a filter, by the summary that `AudienceText` wrote.
    static func hasConditions(_ message: String) -> String {
        let starts = ["users", "tags", "filter"].map { "'{\"\($0)\"'" }.joined(separator: ", ")
        return "\(message).audience_summary ^@ ANY (ARRAY[\(starts)])"
    }

    /// The messages' audiences, and the time that is `now` in a filter: the same as at planning. Parameters:
    /// $1 messages.
    static let audiences = Statement(
        "audience_check_read",
        """
        SELECT c.message_id, c.audience, coalesce(m.due_at, m.accepted_at)
        FROM message_contents c JOIN messages m ON m.id = c.message_id WHERE c.message_id = ANY ($1)
        """)

    // Retired registrations end as retired, whatever else has changed.
    private static func isLive(_ state: String) -> String { "\(state) <> \(RegistrationState.retired.rawValue)" }

    /// The members with their users.
    static let users = MemberStatement("audience_check_users", key: "id", after: 0) {
        "SELECT id, user_id FROM registrations WHERE \($0) AND \(isLive("state"))"
    }

    /// The members that do not fit. Parameters: $1 tags of which all must be present, $2 tags of which one must be
    /// present (none given: any), $3 tags of which none may be present.
    static let tags = MemberStatement("audience_check_tags", key: "id", after: 3) {
        """
        SELECT id FROM registrations WHERE \($0) AND \(isLive("state"))
            AND NOT (tags @> $1 AND (cardinality($2) = 0 OR tags && $2) AND NOT tags && $3)
        """
    }

    /// The members that do not fit a filter. It is not prepared, because there are as many statements as filters.
    static func filter(_ filter: FilterSQL, members: String) -> Statement {
        Statement(
            unprepared: """
                SELECT r.id FROM registrations r \(filter.joins)
                WHERE \(members) AND \(isLive("r.state")) AND NOT \(filter.condition)
                """)
    }
}
