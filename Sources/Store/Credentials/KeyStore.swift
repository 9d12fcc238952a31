import Model
import Postgres

/// The store of API keys. The operator's own key is not in it.
package struct KeyStore: Sendable {
    /// The most keys of one app, or for all apps. More would mean a key per device, and clients must hold none.
    package static let keysMax = 1_000

    let pool: PostgresPool

    /// Creates a key; nil: the limit is reached, or the maker is gone (`lives` tells). Throws
    /// `.conflict(.keyNameTaken)` if the name is taken.
    ///
    /// - Parameter app: the app that the key is for; nil: all apps.
    /// - Parameter maker: the key that makes it, which it does not outlive; nil: the operator's.
    package func create(
        _ key: NewAPIKey, app: AppID?, maker: Int64? = nil
    ) async throws(StoreFault) -> APIKeyRecord? {
        let query = Query(KeySQL.create) {
            $0.int64(app?.value)
            $0.text(key.name)
            $0.textArray(key.scopes.map(\.rawValue))
            $0.bytes(key.sha256)
            $0.text(key.hint)
            $0.instant(key.expiresAt)
            $0.int64(Int64(Self.keysMax))
            $0.int64(maker)
        }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.run(query)
            return rows.rowCount == 1 ? try APIKeyRecord(reading: rows, row: 0) : nil
        }
    }

    /// Returns keys by rising id; pass the last one to go on.
    package func list(app: AppID?, after: Int64 = 0, limit: Int) async throws(StoreFault) -> [APIKeyRecord] {
        let query = Query(KeySQL.list) {
            $0.int64(app?.value)
            $0.int64(after)
            $0.int64(Int64(limit))
        }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query)
            var keys: [APIKeyRecord] = []
            for row in 0..<rows.rowCount { keys.append(try APIKeyRecord(reading: rows, row: row)) }
            return keys
        }
    }

    /// Deletes a key; false: there is none, or it is another app's.
    package func delete(_ id: Int64, app: AppID?) async throws(StoreFault) -> Bool {
        let query = Query(KeySQL.delete) {
            $0.int64(id)
            $0.int64(app?.value)
        }
        return try await translating { () throws(PostgresError) in try await pool.run(query).affectedRows == 1 }
    }

    /// Whether the key still exists and has not expired. A use that lasts longer than a moment asks again.
    package func lives(_ id: Int64) async throws(StoreFault) -> Bool {
        let query = Query(KeySQL.lives) { $0.int64(id) }
        return try await translating { () throws(PostgresError) in try await pool.read(query).bool(0, 0) }
    }

    /// Finds a key; nil: no such key, or it has expired, or its app is deleted.
    package func find(sha256: [UInt8]) async throws(StoreFault) -> APIKeyRecord? {
        let query = Query(KeySQL.find) { $0.bytes(sha256) }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.run(query)
            return rows.rowCount == 1 ? try APIKeyRecord(reading: rows, row: 0) : nil
        }
    }
}

extension APIKeyRecord {
    fileprivate init(reading rows: ResultSet, row: Int) throws(PostgresError) {
        let names = try rows.textArray(row, 3)
        self.init(
            id: try rows.int64(row, 0), app: try rows.textOrNil(row, 1),
            appID: try rows.int64OrNil(row, 8).map { AppID($0) }, name: try rows.text(row, 2),
            // A scope that only a later program knows opens nothing here.
            scopes: APIScope.allCases.filter { names.contains($0.rawValue) }, hint: try rows.text(row, 4),
            createdAt: try rows.instant(row, 5), expiresAt: try rows.instantOrNil(row, 6),
            lastUsedAt: try rows.instantOrNil(row, 7))
    }
}
