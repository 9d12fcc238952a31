import Postgres
import PushModel

/// Credentials in their slots: app × provider × environment × set of topics, at most one active each.
package struct CredentialStore: Sendable {
    let pool: PostgresPool
    let bell: WorkBell

    package init(pool: PostgresPool, bell: WorkBell) {
        self.pool = pool
        self.bell = bell
    }

    package func insert(
        _ credential: NewCredential, activate: Bool
    ) async throws(StoreFault) -> CredentialRecord {
        let query = Query(CredentialSQL.insert) {
            $0.int64(credential.app.value)
            $0.int16(credential.provider.rawValue)
            $0.int16(credential.environment.rawValue)
            $0.text(credential.kind.rawValue)
            $0.textArray(credential.slotTopics)
            $0.json(credential.facts)
            $0.bytes(credential.sealed)
        }
        let staged = try await translating { () throws(PostgresError) in
            try CredentialRecord(reading: try await pool.run(query), row: 0)
        }
        guard activate, let active = try await self.activate(staged.id, app: staged.app) else { return staged }
        return active
    }

    /// Takes a credential into use, for the first time or again; the slot's former one retires in the same transaction.
    /// nil: no such credential.
    package func activate(_ id: CredentialID, app: AppID) async throws(StoreFault) -> CredentialRecord? {
        let queries = [CredentialSQL.lockSlot, CredentialSQL.makeRoom, CredentialSQL.activate].map {
            Query($0) {
                $0.int64(id.value)
                $0.int64(app.value)
            }
        }
        let pool = pool
        let activated = try await translating { () throws(PostgresError) -> CredentialRecord? in
            // Two activations in one slot, of credentials that came at the same moment, may meet without a common lock.
            let answers = try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.run(queries, transaction: TransactionOptions())
            }
            return answers[2].rowCount == 1 ? try CredentialRecord(reading: answers[2], row: 0) : nil
        }
        if activated != nil { bell.ring(.credentials) }
        return activated
    }

    package func list(app: AppID) async throws(StoreFault) -> [CredentialRecord] {
        let query = Query(CredentialSQL.list) { $0.int64(app.value) }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query)
            var records: [CredentialRecord] = []
            for row in 0..<rows.rowCount { records.append(try CredentialRecord(reading: rows, row: row)) }
            return records
        }
    }

    /// Whether it was there and not retired yet.
    package func retire(_ id: CredentialID, app: AppID) async throws(StoreFault) -> Bool {
        try await change(CredentialSQL.retire, id, app)
    }

    package func delete(_ id: CredentialID, app: AppID) async throws(StoreFault) -> Bool {
        try await change(CredentialSQL.delete, id, app)
    }

    /// The credential that a route sends with; nil: none is active for it.
    package func active(
        app: AppID, provider: Provider, environment: PushEnvironment, topic: String
    ) async throws(StoreFault) -> CredentialRecord? {
        let query = Query(CredentialSQL.active) {
            $0.int64(app.value)
            $0.int16(provider.rawValue)
            $0.int16(environment.rawValue)
            $0.text(topic)
        }
        return try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query)
            return rows.rowCount == 1 ? try CredentialRecord(reading: rows, row: 0) : nil
        }
    }

    private func change(_ statement: Statement, _ id: CredentialID, _ app: AppID) async throws(StoreFault) -> Bool {
        let query = Query(statement) {
            $0.int64(id.value)
            $0.int64(app.value)
        }
        let count = try await translating { () throws(PostgresError) in try await pool.run(query).affectedRows }
        if count > 0 { bell.ring(.credentials) }
        return count > 0
    }
}
