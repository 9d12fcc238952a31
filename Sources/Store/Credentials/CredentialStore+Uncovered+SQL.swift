import Model
import Postgres

enum UncoveredTopicSQL {
    private static let topicsMax = 100

    /// A credential covers a topic if it covers one of its services. It reads all registrations, so only the doctor
    /// asks.
    static let all = Statement(
        "topics_uncovered",
        """
        WITH uncovered AS MATERIALIZED (
            SELECT r.id, a.slug, r.provider, r.environment, r.topic FROM routes r JOIN apps a ON a.id = r.app_id
            WHERE a.deleted_at IS NULL AND NOT EXISTS (
                SELECT FROM credentials c CROSS JOIN (VALUES \(WaitSQL.services)) AS w (service, suffix)
                WHERE c.app_id = r.app_id AND c.provider = r.provider AND c.environment = r.environment
                    AND c.state = \(CredentialState.active.sql) AND \(CredentialSQL.covers("r.topic", "w.suffix")))
        )
        SELECT u.slug, u.provider, u.environment, u.topic, count(*) AS registrations
        FROM uncovered u JOIN registrations g ON g.route_id = u.id
        WHERE g.state <> \(RegistrationState.retired.sql)
        GROUP BY u.slug, u.provider, u.environment, u.topic
        ORDER BY u.slug, registrations DESC, u.provider, u.environment, u.topic LIMIT \(topicsMax)
        """)
}
