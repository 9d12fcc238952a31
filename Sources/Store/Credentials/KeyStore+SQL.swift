import Postgres

/// API keys. They are few: an app's are bounded by `KeyStore.keysMax`.
enum KeySQL {
    private static let columns = """
        k.id, (SELECT slug FROM apps WHERE id = k.app_id), k.app_id, k.name, k.scopes, k.hint, k.created_at,
        k.created_by, k.expires_at, k.last_used_at
        """

    /// No app: for all apps. No maker: the operator. The key lives no longer than its maker. No row: the limit is
    /// reached, or the maker is gone. Two at once may both be the last.
    static let create = Statement(
        "key_create",
        """
        INSERT INTO api_keys AS k (app_id, name, scopes, sha256, hint, created_by, expires_at)
        SELECT :app, :name, :scopes, :sha256, :hint, (SELECT name FROM api_keys WHERE id = :maker),
            least(:expires_at, (SELECT expires_at FROM api_keys WHERE id = :maker))
        WHERE (SELECT count(*) FROM api_keys WHERE app_id IS NOT DISTINCT FROM :app) < :keys_max
            AND (:maker IS NULL OR EXISTS (
                SELECT FROM api_keys
                WHERE id = :maker AND (expires_at IS NULL OR expires_at > clock_timestamp()) FOR SHARE))
        RETURNING \(columns)
        """)

    static let list = Statement(
        "key_list",
        """
        SELECT \(columns) FROM api_keys k
        WHERE k.app_id IS NOT DISTINCT FROM :app AND k.id > :after ORDER BY k.id LIMIT :limit
        """)

    static let delete = Statement(
        "key_delete", "DELETE FROM api_keys WHERE id = :key AND app_id IS NOT DISTINCT FROM :app")

    /// Whether the key still exists and has not expired.
    static let lives = Statement(
        "key_lives",
        """
        SELECT EXISTS (
            SELECT FROM api_keys WHERE id = :key AND (expires_at IS NULL OR expires_at > clock_timestamp()))
        """)

    /// A key of a deleted app opens nothing.
    static let find = Statement(
        "key_find",
        """
        SELECT k.sha256, \(columns) FROM api_keys k LEFT JOIN apps a ON a.id = k.app_id
        WHERE k.sha256 = ANY (:hashes) AND (k.expires_at IS NULL OR k.expires_at > clock_timestamp())
            AND (k.app_id IS NULL OR a.deleted_at IS NULL)
        """)

    /// Another process may have noted the use of the same keys a moment ago.
    static let noteUses = Statement(
        "key_note_uses",
        """
        UPDATE api_keys SET last_used_at = clock_timestamp()
        WHERE id = ANY (:keys)
            AND (last_used_at IS NULL OR last_used_at < clock_timestamp() - :interval_us * interval '1 microsecond')
        """)
}
