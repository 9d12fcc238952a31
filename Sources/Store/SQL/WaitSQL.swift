import JSON
import Postgres
import PushModel

/// What waits for a credential.
enum WaitSQL {
    private static let routesMax = 100

    // Each topic service, and the formats of its parcels that this program knows: a newer one's are its to tell of.
    private static let services = TopicService.allCases.map { service in
        let formats = AwayFormat.leased(by: service.formats(ofContents: StoredContent.knownFormats))
        return "('\(service.suffix)', ARRAY[\(formats.map(String.init).joined(separator: ", "))]::smallint[])"
    }.joined(separator: ", ")

    private static let wholeTopic = "CASE WHEN r.topic = '' THEN '' ELSE r.topic || w.suffix END AS whole_topic"

    // Who would speak for the line, as `CredentialSQL.active` chooses, and what its provider says of that one.
    private static func speaker(now: String) -> String {
        """
        LEFT JOIN LATERAL (
            SELECT c.id FROM credentials c
            WHERE c.app_id = r.app_id AND c.provider = r.provider AND c.environment = r.environment AND c.state = 2
                AND \(CredentialSQL.covers("r.topic", "w.suffix"))
            ORDER BY \(CredentialSQL.closest("r.topic")) LIMIT 1
        ) AS speaker ON true
        LEFT JOIN lane_blocks b ON b.credential_id = speaker.id AND b.until > coalesce(\(now), now())
        """
    }

    /// $1 app, $2 message, $3 now.
    static let ofMessage = Statement(
        "waits_of_message",
        """
        SELECT a.slug, r.provider, r.environment, \(wholeTopic), w.pushes, b.reason
        FROM (SELECT p.route_id, s.suffix, sum(p.pending) AS pushes FROM parcels p
            JOIN (VALUES \(services)) AS s (suffix, formats) ON p.format = ANY (s.formats)
            WHERE p.message_id = $2 AND p.app_id = $1 AND p.state = 1 GROUP BY p.route_id, s.suffix) AS w
        JOIN routes r ON r.id = w.route_id JOIN apps a ON a.id = r.app_id
        \(speaker(now: "$3"))
        WHERE speaker.id IS NULL OR b.credential_id IS NOT NULL
        ORDER BY r.provider, r.environment, whole_topic LIMIT \(routesMax)
        """)

    /// $1 now.
    static let ofAll = Statement(
        "waits_of_all",
        """
        SELECT a.slug, r.provider, r.environment, \(wholeTopic), NULL::bigint, b.reason
        FROM routes r JOIN apps a ON a.id = r.app_id CROSS JOIN (VALUES \(services)) AS w (suffix, formats)
        \(speaker(now: "$1"))
        WHERE a.deleted_at IS NULL AND (speaker.id IS NULL OR b.credential_id IS NOT NULL)
            AND EXISTS (SELECT FROM parcels p WHERE p.route_id = r.id AND p.format = ANY (w.formats) AND p.state = 1)
        ORDER BY a.slug, r.provider, r.environment, whole_topic LIMIT \(routesMax)
        """)
}
