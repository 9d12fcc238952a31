import Model
import Postgres

/// Statements that check whether the members of a leased parcel still meet the conditions of their message's audience.
enum AudienceCheckSQL {
    /// Whether the audience of `message` is users, tags, a filter or subscribers of any kind, by the summary that `AudienceText`
    /// wrote.
    static func hasConditions(_ message: String) -> String {
        let conditions = ["users", "tags", "filter", "subscribers", "revoked", "item_subscribers"]
        let starts = conditions.map { "'{\"\($0)\"'" }.joined(separator: ", ")
        return "\(message).audience_summary ^@ ANY (ARRAY[\(starts)])"
    }

    /// The messages' audiences, and the time that is `now` in a filter: the same as at planning.
    static let audiences = Statement(
        "audience_check_read",
        """
        SELECT c.message_id, c.audience, coalesce(m.due_at, m.accepted_at)
        FROM message_contents c JOIN messages m ON m.id = c.message_id WHERE c.message_id = ANY (:messages)
        """)

    // Retired registrations end as retired, whatever else has changed.
    private static func isLive(_ state: String) -> String { "\(state) <> \(RegistrationState.retired.sql)" }

    /// The members with their users.
    static let users = MemberStatement("audience_check_users", key: "id") {
        "SELECT id, user_id FROM registrations WHERE \($0) AND \(isLive("state"))"
    }

    /// The members that do not fit. Without any tags of which one must be present, any tag will do.
    static let tags = MemberStatement("audience_check_tags", key: "id") {
        """
        SELECT id FROM registrations WHERE \($0) AND \(isLive("state"))
            AND NOT (tags @> :all_of AND (cardinality(:one_of) = 0 OR tags && :one_of) AND NOT tags && :none_of)
        """
    }

    /// The members that fit, with their subscription: it has not ended since this message was cut, and has been told nothing
    /// later. A new subscription to the same path knows nothing of the message.
    static let subscribers = MemberStatement("audience_check_subscribers", key: "s.registration_id") {
        """
        SELECT s.registration_id, s.id FROM subscriptions s
        CROSS JOIN LATERAL (
            SELECT message_id FROM subscription_progress WHERE subscription_id = s.id LIMIT 1
        ) AS p
        WHERE s.watch_id = :watch AND \($0) AND p.message_id = :message
        """
    }

    /// Watched paths, with the revisions of their apps' read rules.
    static let watches = Statement(
        "audience_check_watches",
        """
        SELECT w.id, w.app_id, w.path, nr.revision
        FROM watches w LEFT JOIN node_rules nr ON nr.app_id = w.app_id WHERE w.id = ANY (:watches)
        """)

    /// The members that subscribe to the watch again.
    static let revoked = MemberStatement("audience_check_revoked", key: "r.id") {
        """
        SELECT r.id FROM registrations r WHERE \($0) AND \(isLive("r.state")) AND EXISTS (
            SELECT FROM subscriptions s WHERE s.watch_id = :watch AND s.registration_id = r.id)
        """
    }

    /// The members without a subscription to items whose pushes have the template, or had another one when the message was
    /// cut. One that is younger than the message knows nothing of it: the device may have another owner now.
    static let itemSubscribers = MemberStatement("audience_check_item_subscribers", key: "r.id") {
        """
        SELECT r.id FROM registrations r WHERE \($0) AND \(isLive("r.state")) AND NOT EXISTS (
            SELECT FROM item_subscriptions s
            WHERE s.template_id = :template AND s.registration_id = r.id AND s.created_at <= :sent_from)
            AND (SELECT true FROM item_subscriptions s
                WHERE s.registration_id = r.id AND s.template_changed_at >= :sent_from AND s.created_at <= :sent_from
                LIMIT 1) IS NULL
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
