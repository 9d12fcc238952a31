import Model
import Postgres

/// The store of credentials in their slots: app × provider × environment × set of topics, at most one active each.
package struct CredentialStore: Sendable {
    let pool: PostgresPool
    let notifier: WorkNotifier

    package init(pool: PostgresPool, notifier: WorkNotifier) { (self.pool, self.notifier) = (pool, notifier) }

    /// Draws ids for new credentials. An id that is not used is lost, which harms nothing.
    package func nextIDs(_ count: Int) async throws(StoreFault) -> [CredentialID] {
        let query = Query(CredentialSQL.nextIDs) { $0.int64("count", Int64(count)) }
        return try await translating { () throws(PostgresError) in
            try await pool.run(query).map { row throws(PostgresError) in CredentialID(try row.int64()) }
        }
    }

    /// Writes an app's credentials and activates them if asked: all of it or nothing.
    ///
    /// - Parameters:
    ///   - claim: the request's idempotency key; a repeated request has no second effect.
    ///   - answer: makes the request's answer; it is stored with the key.
    package func insert(
        _ credentials: [NewCredential], app: AppID, activate: Bool, once claim: IdempotencyClaim?,
        answer: @Sendable ([CredentialRecord]) -> [UInt8]
    ) async throws(StoreFault) -> IdempotentReply {
        precondition(credentials.allSatisfy { $0.app == app }, "all credentials belong to the app of the request")
        let lock = activate ? [Self.lock(app)] : []
        let changes = credentials.map { [Self.insertion($0)] + (activate ? Self.activation($0.id, app) : []) }
        let pool = pool
        let reply = try await translating { () throws(PostgresError) in
            try await pool.once(claim, of: app) { transaction throws(PostgresError) in
                var answers = try await transaction.run(lock + changes.flatMap(\.self))[lock.count...]
                var records: [CredentialRecord] = []
                for change in changes {
                    // The last statement of each change returns the credential's row.
                    let own = answers.prefix(change.count)
                    answers = answers.dropFirst(change.count)
                    records.append(try own[own.endIndex - 1].one(CredentialRecord.init))
                }
                return answer(records)
            }
        }
        if activate, case .done = reply { notifier.notify(.credentials) }
        return reply
    }

    /// The answer to an earlier request with this key; nil: there was none.
    package func earlier(_ claim: IdempotencyClaim, app: AppID) async throws(StoreFault) -> IdempotentReply? {
        try await translating { () throws(PostgresError) in try await claim.earlier(app: app, in: pool) }
    }

    private static func insertion(_ credential: NewCredential) -> Query {
        Query(CredentialSQL.insert) {
            $0.int64("app", credential.app.value)
            $0.int16("provider", credential.provider.rawValue)
            $0.int16("environment", credential.environment.rawValue)
            $0.text("kind", credential.kind.rawValue)
            $0.textArray("topics", credential.slotTopics)
            $0.textArray("whole_topics", credential.wholeTopics)
            $0.json("facts", credential.facts)
            $0.bytes("sealed", credential.sealed)
            $0.int64("credential", credential.id.value)
        }
    }

    private static func lock(_ app: AppID) -> Query { Query(CredentialSQL.lockApp) { $0.int64("app", app.value) } }

    private static func activation(_ id: CredentialID, _ app: AppID) -> [Query] {
        [CredentialSQL.makeRoom, CredentialSQL.activate].map { query($0, id, app) }
    }

    private static func query(_ statement: Statement, _ id: CredentialID, _ app: AppID) -> Query {
        Query(statement) {
            $0.int64("credential", id.value)
            $0.int64("app", app.value)
        }
    }

    /// Activates a credential, for the first time or again; nil: no such credential. The slot's former one retires in
    /// the same transaction.
    package func activate(_ id: CredentialID, app: AppID) async throws(StoreFault) -> CredentialRecord? {
        let queries = [Self.lock(app)] + Self.activation(id, app)
        let pool = pool
        let activated = try await translating { () throws(PostgresError) in
            try await pool.run(queries, transaction: TransactionOptions())[2].first(CredentialRecord.init)
        }
        if activated != nil { notifier.notify(.credentials) }
        return activated
    }

    package func list(app: AppID) async throws(StoreFault) -> [CredentialRecord] {
        let query = Query(CredentialSQL.list) { $0.int64("app", app.value) }
        return try await translating { () throws(PostgresError) in
            try await pool.read(query).map(CredentialRecord.init)
        }
    }

    /// Retires a credential; false: there is no such one. Retiring it again changes nothing.
    package func retire(_ id: CredentialID, app: AppID) async throws(StoreFault) -> Bool {
        try await change(CredentialSQL.retire, id, app)
    }

    package func delete(_ id: CredentialID, app: AppID) async throws(StoreFault) -> Bool {
        try await change(CredentialSQL.delete, id, app)
    }

    /// The credential that a route sends a service's pushes with; nil: none is active for it.
    package func active(
        app: AppID, provider: Provider, environment: PushEnvironment, topic: String, service: TopicService = .app
    ) async throws(StoreFault) -> CredentialRecord? {
        let query = Query(CredentialSQL.active) {
            $0.int64("app", app.value)
            $0.int16("provider", provider.rawValue)
            $0.int16("environment", environment.rawValue)
            $0.text("topic", topic)
            $0.text("suffix", service.suffix)
        }
        return try await translating { () throws(PostgresError) in
            try await pool.read(query).first(CredentialRecord.init)
        }
    }

    private func change(_ statement: Statement, _ id: CredentialID, _ app: AppID) async throws(StoreFault) -> Bool {
        let query = Self.query(statement, id, app)
        let count = try await translating { () throws(PostgresError) in try await pool.run(query).affectedRows }
        if count > 0 { notifier.notify(.credentials) }
        return count > 0
    }
}
