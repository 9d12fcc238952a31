import Model
import Postgres

/// Credentials, lane blocks, provider tokens, the proof of the master key.
enum CredentialSQL {
    private static let columns = """
        id, app_id, provider, environment, kind, topics, facts, sealed, state, created_at, activated_at, retired_at
        """

    /// $1 how many.
    static let nextIDs = Statement(
        "credential_next_ids",
        "SELECT nextval(pg_get_serial_sequence('credentials', 'id')) FROM generate_series(1, $1::bigint)")

    /// $1 app, $2 provider, $3 environment, $4 kind, $5 topics, sorted, $6 facts, $7 sealed, $8 id.
    static let insert = Statement(
        "credential_insert",
        """
        INSERT INTO credentials (app_id, provider, environment, kind, topics, facts, sealed, id)
        OVERRIDING SYSTEM VALUE VALUES ($1, $2, $3, $4, $5, $6, $7, $8) RETURNING \(columns)
        """)

    /// $1 app. Everybody who fills a slot of the app waits here: two transactions that can't see each other's rows
    /// could both fill it. References to the app don't wait.
    static let lockApp = Statement("credential_lock_app", "SELECT 1 FROM apps WHERE id = $1 FOR NO KEY UPDATE")

    /// $1 id, $2 app. Retires the active credential of its slot.
    static let makeRoom = Statement(
        "credential_make_room",
        """
        UPDATE credentials mate SET state = 3, retired_at = clock_timestamp()
        FROM credentials own
        WHERE own.id = $1 AND own.app_id = $2 AND mate.id <> own.id AND mate.state = 2 AND mate.app_id = own.app_id
            AND mate.provider = own.provider AND mate.environment = own.environment AND mate.topics = own.topics
        """)

    /// $1 id, $2 app.
    static let activate = Statement(
        "credential_activate",
        """
        UPDATE credentials SET state = 2, retired_at = NULL,
            activated_at = CASE WHEN state = 2 THEN activated_at ELSE clock_timestamp() END
        WHERE id = $1 AND app_id = $2 RETURNING \(columns)
        """)

    static let list = Statement(
        "credential_list", "SELECT \(columns) FROM credentials WHERE app_id = $1 ORDER BY id")

    static let retire = Statement(
        "credential_retire",
        """
        UPDATE credentials SET state = 3,
            retired_at = CASE WHEN state = 3 THEN retired_at ELSE clock_timestamp() END
        WHERE id = $1 AND app_id = $2
        """)

    static let delete = Statement("credential_delete", "DELETE FROM credentials WHERE id = $1 AND app_id = $2")

    // Whether a certificate is for some of an app's services alone: it names their whole topics. Everything else names
    // bundle ids, or nothing. `APNsPushTypes` has the same patterns: two of the suffixes also end names of apps,
    // com.example.voip.
    private static let isForServicesAlone = """
        EXISTS (SELECT FROM unnest(topics) AS named (topic)
            WHERE named.topic LIKE ANY ('{%.%.%.voip,%.%.%.complication,%_.pushkit.fileprovider}'))
        """

    /// Whether a credential covers a service of a topic, as far as its topics say. The service's own certificate does,
    /// the app's may, and a key does. A registration without a topic takes what is there for its service.
    static func covers(_ topic: String, _ suffix: String) -> String {
        """
        (topics = '{}'
            OR (\(topic) <> '' AND (\(topic) = ANY (topics) OR \(topic) || \(suffix) = ANY (topics)))
            OR (\(topic) = '' AND (NOT \(isForServicesAlone) OR (\(suffix) <> '' AND EXISTS (
                SELECT FROM unnest(topics) AS named (topic) WHERE right(named.topic, length(\(suffix))) = \(suffix))))))
        """
    }

    /// The order of credentials that cover a topic: the service's own before the app's, one that names the app before
    /// one for any.
    static func closest(_ topic: String) -> String {
        "\(isForServicesAlone) DESC, \(topic) = ANY (topics) DESC, activated_at DESC, id DESC"
    }

    /// $1 app, $2 provider, $3 environment, $4 topic, $5 the service's suffix.
    static let active = Statement(
        "credential_active",
        """
        SELECT \(columns) FROM credentials
        WHERE app_id = $1 AND provider = $2 AND environment = $3 AND state = 2
            AND \(covers("$4", "$5"))
        ORDER BY \(closest("$4")) LIMIT 1
        """)

    /// $1 ids.
    static let activeAmong = Statement(
        "credential_active_among", "SELECT id FROM credentials WHERE id = ANY ($1) AND state = 2")

    /// $1 credential, $2 reason, $3 microseconds, $4 now. Never shortens a block.
    static let block = Statement(
        "lane_block",
        """
        INSERT INTO lane_blocks (credential_id, reason, blocked_at, until)
        SELECT $1, $2, clock.now, clock.now + $3 * interval '1 microsecond'
        FROM (SELECT coalesce($4, clock_timestamp()) AS now) AS clock
        ON CONFLICT (credential_id) DO UPDATE SET reason = excluded.reason, blocked_at = excluded.blocked_at,
            until = greatest(lane_blocks.until, excluded.until)
        """)

    static let unblock = Statement("lane_unblock", "DELETE FROM lane_blocks WHERE credential_id = $1")

    static let blocks = Statement(
        "lane_blocks",
        """
        SELECT credential_id, reason, until FROM lane_blocks WHERE until > coalesce($1, now()) ORDER BY credential_id
        """)

    static let providerToken = Statement(
        "provider_token_read",
        "SELECT sealed, issued_at FROM provider_tokens WHERE key_fingerprint = $1 AND sealed IS NOT NULL")

    static let addProviderToken = Statement(
        "provider_token_add", "INSERT INTO provider_tokens (key_fingerprint) VALUES ($1) ON CONFLICT DO NOTHING")

    static let lockProviderToken = Statement(
        "provider_token_lock",
        "SELECT sealed, issued_at FROM provider_tokens WHERE key_fingerprint = $1 FOR UPDATE")

    static let writeProviderToken = Statement(
        "provider_token_write",
        "UPDATE provider_tokens SET sealed = $2, issued_at = $3 WHERE key_fingerprint = $1")

    static let keepProof = Statement(
        "master_key_keep_proof", "INSERT INTO master_key_proof (sealed) VALUES ($1) ON CONFLICT DO NOTHING")

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
