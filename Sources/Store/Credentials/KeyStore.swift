import Model
import Postgres

/// API keys, as they are stored: the operator's own is none of these.
package struct KeyStore: Sendable {
    /// Of one app, or of all apps. More would be one a device: those belong to no client.
    package static let keysMax = 1_000

    let pool: PostgresPool

    /// nil: there are as many as there may be, or the maker is gone (`lives` tells). Throws `.conflict(.keyNameTaken)` where
    /// there is one of that name.
    ///
    /// - Parameter app: whose it is; nil: of all.
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

    /// By rising id; pass the last one to go on.
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

    /// False: there is none, or it is another's.
    package func delete(_ id: Int64, app: AppID?) async throws(StoreFault) -> Bool {
        let query = Query(KeySQL.delete) {
            $0.int64(id)
            $0.int64(app?.value)
        }
        return try await translating { () throws(PostgresError) in try await pool.run(query).affectedRows == 1 }
    }

    /// Whether the key is still there, and has not expired: asked anew, for what outlasts a moment.
    package func lives(_ id: Int64) async throws(StoreFault) -> Bool {
        let query = Query(KeySQL.lives) { $0.int64(id) }
        return try await translating { () throws(PostgresError) in try await pool.read(query).bool(0, 0) }
    }

    /// nil: no such key, or it has expired, or its app is deleted.
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
            // A scope that a later program made opens nothing here.
            scopes: APIScope.allCases.filter { names.contains($0.rawValue) }, hint: try rows.text(row, 4),
            createdAt: try rows.instant(row, 5), expiresAt: try rows.instantOrNil(row, 6),
            lastUsedAt: try rows.instantOrNil(row, 7))
    }
}
