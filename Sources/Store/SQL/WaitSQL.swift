import Postgres

/// What waits for a credential.
enum WaitSQL {
    private static let routesMax = 100

    // Who would speak for the route, as `CredentialSQL.active` chooses, and what its provider says of that one.
    private static func speaker(now: String) -> String {
        """
        LEFT JOIN LATERAL (
            SELECT c.id FROM credentials c
            WHERE c.app_id = r.app_id AND c.provider = r.provider AND c.environment = r.environment AND c.state = 2
                AND (r.topic = '' OR c.topics = '{}' OR r.topic = ANY (c.topics))
            ORDER BY r.topic = ANY (c.topics) DESC, c.activated_at DESC, c.id DESC LIMIT 1
        ) AS speaker ON true
        LEFT JOIN lane_blocks b ON b.credential_id = speaker.id AND b.until > coalesce(\(now), now())
        """
    }

    /// $1 app, $2 message, $3 now.
    static let ofMessage = Statement(
        "waits_of_message",
        """
        SELECT a.slug, r.provider, r.environment, r.topic, w.pushes, b.reason
        FROM (SELECT route_id, sum(pending) AS pushes FROM parcels
            WHERE message_id = $2 AND app_id = $1 AND state = 1 GROUP BY route_id) AS w
        JOIN routes r ON r.id = w.route_id JOIN apps a ON a.id = r.app_id
        \(speaker(now: "$3"))
        WHERE speaker.id IS NULL OR b.credential_id IS NOT NULL
        ORDER BY r.provider, r.environment, r.topic LIMIT \(routesMax)
        """)

    /// $1 now.
    static let ofAll = Statement(
        "waits_of_all",
        """
        SELECT a.slug, r.provider, r.environment, r.topic, NULL::bigint, b.reason
        FROM routes r JOIN apps a ON a.id = r.app_id
        \(speaker(now: "$1"))
        WHERE a.deleted_at IS NULL AND (speaker.id IS NULL OR b.credential_id IS NOT NULL)
            AND EXISTS (SELECT FROM parcels p WHERE p.route_id = r.id AND p.state = 1)
        ORDER BY a.slug, r.provider, r.environment, r.topic LIMIT \(routesMax)
        """)
}
