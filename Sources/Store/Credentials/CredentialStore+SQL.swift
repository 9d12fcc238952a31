import Model
import Postgres

/// Credentials, lane blocks, provider tokens, the proof of the master key.
enum CredentialSQL {
    private static let columns = """
        id, submission, app_id, provider, environment, kind, topics, facts, sealed, state, created_at, activated_at, retired_at
        """

    static let nextIDs = Statement(
        "credential_next_ids",
        "SELECT nextval(pg_get_serial_sequence('credentials', 'id')) FROM generate_series(1, :count::bigint)")

    static let insert = Statement(
        "credential_insert",
        """
        INSERT INTO credentials (app_id, provider, environment, kind, topics, whole_topics, facts, sealed, id,
            submission)
        OVERRIDING SYSTEM VALUE
        VALUES (:app, :provider, :environment, :kind, :topics, :whole_topics, :facts, :sealed, :credential, :submission)
        RETURNING \(columns)
        """)

    /// Everybody who fills a slot of the app waits here: two transactions that can't see each other's rows
    /// could both fill it. References to the app don't wait.
    static let lockApp = Statement("credential_lock_app", "SELECT 1 FROM apps WHERE id = :app FOR NO KEY UPDATE")

    /// Retires the active credentials of their slots.
    static let makeRoom = Statement(
        "credential_make_room",
        """
        UPDATE credentials mate SET state = \(CredentialState.retired.sql), retired_at = clock_timestamp()
        FROM credentials own
        WHERE own.id = ANY (:credentials) AND own.app_id = :app AND mate.id <> own.id
            AND mate.state = \(CredentialState.active.sql) AND mate.app_id = own.app_id
            AND mate.provider = own.provider AND mate.environment = own.environment AND mate.topics = own.topics
        """)

    static let activate = Statement(
        "credential_activate",
        """
        UPDATE credentials SET state = \(CredentialState.active.sql), retired_at = NULL,
            activated_at = CASE WHEN state = \(CredentialState.active.sql) THEN activated_at ELSE clock_timestamp() END
        WHERE id = ANY (:credentials) AND app_id = :app RETURNING \(columns)
        """)

    static let list = Statement("credential_list", "SELECT \(columns) FROM credentials WHERE app_id = :app ORDER BY id")

    static let retire = Statement(
        "credential_retire",
        """
        UPDATE credentials SET state = \(CredentialState.retired.sql),
            retired_at = CASE WHEN state = \(CredentialState.retired.sql) THEN retired_at ELSE clock_timestamp() END
        WHERE id = ANY (:credentials) AND app_id = :app
        """)

    static let delete = Statement(
        "credential_delete", "DELETE FROM credentials WHERE id = :credential AND app_id = :app")

    /// Whether a credential covers a service of a topic, or of registrations without a topic. A key covers all services
    /// of its topics, a certificate exactly the whole topics that it lists.
    static func covers(_ topic: String, _ suffix: String) -> String {
        """
        ((whole_topics = '{}' AND (topics = '{}' OR \(topic) = '' OR \(topic) = ANY (topics)))
            OR \(topic) || \(suffix) = ANY (whole_topics))
        """
    }

    /// The order of credentials that cover a topic: a certificate for services alone before the app's, one that names
    /// the app before one for any.
    static func closest(_ topic: String) -> String {
        """
        (whole_topics <> '{}' AND NOT \(topic) = ANY (whole_topics)) DESC, \(topic) = ANY (topics) DESC,
        activated_at DESC, id DESC
        """
    }

    static let active = Statement(
        "credential_active",
        """
        SELECT \(columns) FROM credentials
        WHERE app_id = :app AND provider = :provider AND environment = :environment
            AND state = \(CredentialState.active.sql) AND \(covers(":topic", ":suffix"))
        ORDER BY \(closest(":topic")) LIMIT 1
        """)

    static let activeAmong = Statement(
        "credential_active_among",
        "SELECT id FROM credentials WHERE id = ANY (:credentials) AND state = \(CredentialState.active.sql)")

    /// Refusals that follow each other within this time are one wait: between them, single pushes try the credential.
    static let refusalsApartMax = "interval '10 minutes'"

    /// Never shortens a block.
    static let block = Statement(
        "lane_block",
        """
        INSERT INTO lane_blocks (credential_id, reason, blocked_at, until)
        SELECT :credential, :reason, clock.now, clock.now + :length_us * interval '1 microsecond'
        FROM (SELECT coalesce(:now, clock_timestamp()) AS now) AS clock
        ON CONFLICT (credential_id) DO UPDATE SET reason = excluded.reason,
            blocked_at = CASE WHEN lane_blocks.until > excluded.blocked_at - \(refusalsApartMax)
                THEN lane_blocks.blocked_at ELSE excluded.blocked_at END,
            until = greatest(lane_blocks.until, excluded.until)
        """)

    static let blocks = Statement(
        "lane_blocks",
        """
        SELECT credential_id, reason, blocked_at, until FROM lane_blocks WHERE until > coalesce(:now, now()) ORDER BY credential_id
        """)

    /// The blocks that hold, and what processes reported about credentials a moment ago; of each credential the blocks
    /// first.
    static let refusals = Statement(
        "credential_refusals",
        """
        SELECT credential_id, reason, since, is_by_provider FROM (
            SELECT credential_id, reason, blocked_at AS since, true AS is_by_provider
            FROM lane_blocks WHERE until > coalesce(:now, now())
            UNION ALL
            SELECT credential_id, reason, since, false FROM lane_outages
            WHERE cause IN (\([PushWait.Cause.token, .credentialUnusable].sql))
                AND reported_at > coalesce(:now, now()) - \(WaitSQL.outageIsFresh)
        ) AS known ORDER BY credential_id, is_by_provider DESC, since
        """)

    static let providerToken = Statement(
        "provider_token_read",
        "SELECT sealed, issued_at FROM provider_tokens WHERE key_fingerprint = :fingerprint AND sealed IS NOT NULL")

    static let addProviderToken = Statement(
        "provider_token_add",
        "INSERT INTO provider_tokens (key_fingerprint) VALUES (:fingerprint) ON CONFLICT DO NOTHING")

    static let lockProviderToken = Statement(
        "provider_token_lock",
        "SELECT sealed, issued_at FROM provider_tokens WHERE key_fingerprint = :fingerprint FOR UPDATE")

    static let writeProviderToken = Statement(
        "provider_token_write",
        "UPDATE provider_tokens SET sealed = :sealed, issued_at = :issued_at WHERE key_fingerprint = :fingerprint")

    static let keepProof = Statement(
        "master_key_keep_proof", "INSERT INTO master_key_proof (sealed) VALUES (:sealed) ON CONFLICT DO NOTHING")

    static let readProof = Statement("master_key_read_proof", "SELECT sealed FROM master_key_proof")
}

extension TopicService {
    static let numbers = allCases.map { String($0.rawValue) }.joined(separator: ", ")

    /// The suffix of the service whose number the SQL expression gives.
    static func suffix(of service: String) -> String {
        let cases = allCases.map { "WHEN \($0.rawValue) THEN '\($0.suffix)'" }.joined(separator: " ")
        return "(CASE \(service) \(cases) END)"
    }
}
