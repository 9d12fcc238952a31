import Postgres

/// API keys. They are few: an app's are bounded by `KeyStore.keysMax`.
enum KeySQL {
    // Columns in the order of `APIKeyRecord.init(reading:row:)`. The last use is noted to the minute, which may have
    // begun before the key was made.
    private static let columns = """
        k.id, (SELECT slug FROM apps WHERE id = k.app_id), k.name, k.scopes, k.hint, k.created_at, k.expires_at,
        CASE WHEN k.last_used_at IS NOT NULL THEN greatest(k.last_used_at, k.created_at) END, k.app_id
        """

    /// $1 app (null: all apps), $2 name, $3 scopes, $4 SHA-256, $5 hint, $6 expiry, $7 keys at most, $8 the key's maker
    /// (null: the operator). The key lives no longer than its maker. No row: the limit is reached, or the maker is
    /// gone. Two at once may both be the last.
    static let create = Statement(
        "key_create",
        """
        INSERT INTO api_keys AS k (app_id, name, scopes, sha256, hint, expires_at)
        SELECT $1, $2, $3, $4, $5, least($6, (SELECT expires_at FROM api_keys WHERE id = $8))
        WHERE (SELECT count(*) FROM api_keys WHERE app_id IS NOT DISTINCT FROM $1) < $7
            AND ($8 IS NULL OR EXISTS (
                SELECT FROM api_keys WHERE id = $8 AND (expires_at IS NULL OR expires_at > clock_timestamp()) FOR SHARE))
        RETURNING \(columns)
        """)

    /// $1 app (null: all apps), $2 id to go on behind, $3 rows at most.
    static let list = Statement(
        "key_list",
        """
        SELECT \(columns) FROM api_keys k WHERE k.app_id IS NOT DISTINCT FROM $1 AND k.id > $2 ORDER BY k.id LIMIT $3
        """)

    /// $1 id, $2 app (null: all apps).
    static let delete = Statement(
        "key_delete", "DELETE FROM api_keys WHERE id = $1 AND app_id IS NOT DISTINCT FROM $2")

    /// $1 id. Whether the key still exists and has not expired.
    static let lives = Statement(
        "key_lives",
        """
        SELECT EXISTS (
            SELECT FROM api_keys WHERE id = $1 AND (expires_at IS NULL OR expires_at > clock_timestamp()))
        """)

    /// $1 SHA-256. A key of a deleted app opens nothing. Its use is noted once a minute at most, because every request
    /// asks.
    static let find = Statement(
        "key_find",
        """
        WITH noted AS (
            UPDATE api_keys SET last_used_at = date_trunc('minute', clock_timestamp())
            WHERE sha256 = $1 AND (last_used_at IS NULL OR last_used_at < date_trunc('minute', clock_timestamp()))
        )
        SELECT \(columns) FROM api_keys k LEFT JOIN apps a ON a.id = k.app_id
        WHERE k.sha256 = $1 AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
            AND (k.app_id IS NULL OR a.deleted_at IS NULL)
        """)
}
