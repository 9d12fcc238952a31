import Content
import Model
import Postgres

/// Pushes that wait for a credential.
enum WaitSQL {
    private static let routesMax = 100

    // The services with their suffixes.
    static let services = TopicService.allCases.map { "(\($0.rawValue)::smallint, '\($0.suffix)')" }
        .joined(separator: ", ")

    // Whether a parcel is of the service, in a format that this program knows. Others are not explained.
    static func isKnown(_ parcel: String, of service: String) -> String {
        let formats = StoredContent.knownFormats.map(String.init).joined(separator: ", ")
        return "\(parcel).service = \(service).service AND \(parcel).format = ANY (ARRAY[\(formats)]::smallint[])"
    }

    static let topicOfService = "CASE WHEN r.topic = '' THEN '' ELSE r.topic || w.suffix END"
    private static let wholeTopic = topicOfService + " AS whole_topic"

    // The credential for the route and service, chosen as in `CredentialSQL.active`, and what its provider says of it.
    static func credential(now: String) -> String {
        """
        LEFT JOIN LATERAL (
            SELECT c.id FROM credentials c
            WHERE c.app_id = r.app_id AND c.provider = r.provider AND c.environment = r.environment
                AND c.state = \(CredentialState.active.sql)
                AND \(CredentialSQL.covers("r.topic", "w.suffix"))
            ORDER BY \(CredentialSQL.closest("r.topic")) LIMIT 1
        ) AS speaker ON true
        LEFT JOIN lane_blocks b ON b.credential_id = speaker.id AND b.until > coalesce(\(now), now())
        """
    }

    static let ofAll = Statement(
        "waits_of_all",
        """
        SELECT a.slug, r.provider, r.environment, \(wholeTopic), b.reason
        FROM routes r JOIN apps a ON a.id = r.app_id CROSS JOIN (VALUES \(services)) AS w (service, suffix)
        \(credential(now: ":now"))
        WHERE a.deleted_at IS NULL AND (speaker.id IS NULL OR b.credential_id IS NOT NULL)
            AND (EXISTS (SELECT FROM parcels p
                    WHERE p.route_id = r.id AND \(isKnown("p", of: "w")) AND p.state = \(ParcelState.ready.sql))
                OR EXISTS (SELECT FROM message_rates n JOIN parcels p ON p.message_id = n.message_id
                    WHERE n.app_id = r.app_id AND p.route_id = r.id AND \(isKnown("p", of: "w"))
                        AND p.state = \(ParcelState.rateLimited.sql)))
        ORDER BY a.slug, r.provider, r.environment, whole_topic LIMIT \(routesMax)
        """)
}
