import Content
import Model
import Postgres

/// Routes whose pushes wait, and why.
enum WaitSQL {
    private static let routesMax = 100
    /// A process reports an outage every fifteen seconds while it lasts.
    static let outageIsFresh = "interval '60 seconds'"

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

    // The report of a process about the credential's lane, or of the route and service on it. If one process is throttled
    // and another one can't connect, the first one is nearer to sending.
    static func outage(of route: String, _ service: String, now: String) -> String {
        """
        LEFT JOIN LATERAL (
            SELECT o.cause, o.since, o.reason, o.open_until FROM lane_outages o
            WHERE o.credential_id = speaker.id AND o.reported_at > \(now) - \(outageIsFresh)
                AND (o.route_id = 0 OR o.route_id = \(route) AND o.service = \(service))
            ORDER BY o.open_until, o.since, o.cause LIMIT 1
        ) AS outage ON true
        """
    }

    // Whether the route got answers in a minute after its outage began. A message with a rate is leased only for
    // moments, and another process may well be sending.
    static func isAnswered(_ route: String, now: String) -> String {
        """
        EXISTS (
            SELECT FROM route_minutes k
            WHERE k.route_id = \(route) AND k.answered > 0 AND k.minute > outage.since
                AND k.minute >= date_trunc('minute', \(now)) - interval '1 minute')
        """
    }

    private static let now = "coalesce(:now, now())"

    static let ofAll = Statement(
        "waits_of_all",
        """
        SELECT a.slug, r.provider, r.environment, \(wholeTopic),
            CASE WHEN speaker.id IS NULL THEN \(PushWait.Cause.credential.sql)
                WHEN b.credential_id IS NOT NULL THEN \(PushWait.Cause.credentialRefused.sql)
                ELSE outage.cause END::smallint,
            coalesce(b.reason, outage.reason), coalesce(b.blocked_at, outage.since)
        FROM routes r JOIN apps a ON a.id = r.app_id CROSS JOIN (VALUES \(services)) AS w (service, suffix)
        \(credential(now: ":now")) \(outage(of: "r.id", "w.service", now: now))
        WHERE a.deleted_at IS NULL AND (speaker.id IS NULL OR b.credential_id IS NOT NULL
                OR outage.cause IS NOT NULL AND NOT \(isAnswered("r.id", now: now)))
            AND (EXISTS (SELECT FROM parcels p
                    WHERE p.route_id = r.id AND \(isKnown("p", of: "w")) AND p.state = \(ParcelState.ready.sql))
                OR EXISTS (SELECT FROM message_rates n JOIN parcels p ON p.message_id = n.message_id
                    WHERE n.app_id = r.app_id AND p.route_id = r.id AND \(isKnown("p", of: "w"))
                        AND p.state = \(ParcelState.rateLimited.sql)))
        ORDER BY a.slug, r.provider, r.environment, whole_topic LIMIT \(routesMax)
        """)
}
