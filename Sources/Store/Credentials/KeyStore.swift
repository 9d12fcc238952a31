import Model
import Postgres

/// The store of API keys. The operator's own key is not in it.
package struct KeyStore: Sendable {
    /// The most keys of one app, or for all apps. More would mean a key per device, and clients must hold none.
    package static let keysMax = 1_000
    /// The precision of a key's last use. Finer would be a write for each key and minute, for what people look at
    /// before they revoke a key.
    package static let lastUseInterval: Duration = .seconds(3_600)

    let pool: PostgresPool

    /// Creates a key; nil: the limit is reached, or the maker is gone (`lives` tells). Throws
    /// `.conflict(.keyNameTaken)` if the name is taken.
    ///
    /// - Parameter app: the app that the key is for; nil: all apps.
    /// - Parameter maker: the key that makes it, which it does not outlive; nil: the operator's.
    package func create(_ key: NewAPIKey, app: AppID?, maker: Int64? = nil) async throws(StoreFault) -> APIKeyRecord? {
        let query = Query(KeySQL.create) {
            $0.int64("app", app?.value)
            $0.text("name", key.name)
            $0.textArray("scopes", key.scopes.map(\.rawValue))
            $0.bytes("sha256", key.sha256)
            $0.text("hint", key.hint)
            $0.instant("expires_at", key.expiresAt)
            $0.int64("keys_max", Int64(Self.keysMax))
            $0.int64("maker", maker)
        }
        return try await translated(await pool.run(query).first(APIKeyRecord.init))
    }

    /// Returns keys by rising id; pass the last one to go on.
    package func list(app: AppID?, after: Int64 = 0, limit: Int) async throws(StoreFault) -> [APIKeyRecord] {
        let query = Query(KeySQL.list) {
            $0.int64("app", app?.value)
            $0.int64("after", after)
            $0.int64("limit", Int64(limit))
        }
        return try await translated(await pool.read(query).map(APIKeyRecord.init))
    }

    /// Deletes a key; false: there is none, or it is another app's.
    package func delete(_ id: Int64, app: AppID?) async throws(StoreFault) -> Bool {
        let query = Query(KeySQL.delete) {
            $0.int64("key", id)
            $0.int64("app", app?.value)
        }
        return try await translated(await pool.run(query).affectedRows == 1)
    }

    /// Whether the key still exists and has not expired. A use that lasts longer than a moment asks again.
    package func lives(_ id: Int64) async throws(StoreFault) -> Bool {
        let query = Query(KeySQL.lives) { $0.int64("key", id) }
        return try await translated(await pool.read(query).one(Bool.init))
    }

    /// Finds keys by their hashes. One is missing if there is no such key, or it has expired, or its app is deleted.
    package func find(sha256 hashes: [[UInt8]]) async throws(StoreFault) -> [[UInt8]: APIKeyRecord] {
        let query = Query(KeySQL.find) { $0.bytesArray("hashes", hashes) }
        return try await translating { () throws(PostgresError) in
            let found = try await pool.read(query).map { row throws(PostgresError) in
                (sha256: try row.bytes(), record: try APIKeyRecord(&row))
            }
            return Dictionary(found.map { ($0.sha256, $0.record) }) { first, _ in first }
        }
    }

    /// Notes that the keys were used. A use that was noted less than `lastUseInterval` ago stays as it is.
    package func noteUses(_ ids: [Int64]) async throws(StoreFault) {
        let query = Query(KeySQL.noteUses) {
            $0.int64Array("keys", ids)
            $0.int64("interval_us", Self.lastUseInterval.wholeMicroseconds)
        }
        _ = try await translated(await pool.run(query))
    }
}

extension APIKeyRecord {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        self.init(
            id: try row.int64(), app: try row.textOrNil(), appID: try row.int64OrNil().map { AppID($0) },
            name: try row.text(), scopes: Self.scopes(named: try row.textArray()), hint: try row.text(),
            createdAt: try row.instant(), createdBy: try row.textOrNil(), expiresAt: try row.instantOrNil(),
            lastUsedAt: try row.instantOrNil())
    }

    /// A scope that only a later program knows opens nothing here.
    private static func scopes(named names: [String]) -> [APIScope] {
        APIScope.allCases.filter { names.contains($0.rawValue) }
    }
}
