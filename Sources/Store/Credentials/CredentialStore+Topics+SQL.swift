import Model
import Postgres

extension CredentialSQL {
    /// More would hide each other.
    private static let mismatchesMax = 20

    /// A device's topic is that of its route. Sibling routes that no client named, of number 0, count as none. An app
    /// without devices mismatches nothing. The environment is null for a topic that no device names.
    static let topicMismatches = Statement(
        "credential_topic_mismatches",
        """
        WITH own AS (
            SELECT DISTINCT provider, environment, topics FROM credentials
            WHERE id = ANY (:credentials) AND app_id = :app
        ), named AS (
            SELECT r.provider, r.environment, r.topic FROM routes r WHERE r.app_id = :app AND r.number > 0
        ), services (suffix) AS (VALUES \(TopicService.allCases.map { "('\($0.suffix)')" }.joined(separator: ", ")))
        SELECT DISTINCT asked.topic AS topic, NULL::smallint AS environment
        FROM own CROSS JOIN LATERAL unnest(own.topics) AS asked (topic)
        WHERE EXISTS (SELECT FROM named n WHERE n.provider = own.provider)
            AND NOT EXISTS (
                SELECT FROM named n CROSS JOIN services s
                WHERE n.provider = own.provider AND (n.topic = '' OR n.topic || s.suffix = asked.topic))
        UNION ALL
        SELECT DISTINCT n.topic, n.environment
        FROM named n JOIN own ON own.provider = n.provider AND own.environment = n.environment
        WHERE n.topic <> '' AND NOT EXISTS (
            SELECT FROM credentials c CROSS JOIN services s
            WHERE c.app_id = :app AND c.provider = n.provider AND c.environment = n.environment
                AND (c.state = \(CredentialState.active.sql) OR c.id = ANY (:credentials))
                AND \(covers("n.topic", "s.suffix")))
        ORDER BY environment NULLS FIRST, topic LIMIT \(mismatchesMax)
        """)
}
