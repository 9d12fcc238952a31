import Model
import Postgres

/// The store of credentials in their slots: app × provider × environment × set of topics, at most one active each.
package struct CredentialStore: Sendable {
    let pool: PostgresPool
    let notifier: WorkNotifier

    /// Draws ids for new credentials. An id that is not used is lost, which harms nothing.
    package func nextIDs(_ count: Int) async throws(StoreFault) -> [CredentialID] {
        let query = Query(CredentialSQL.nextIDs) { $0.int64("count", Int64(count)) }
        return try await translated(
            await pool.run(query).map { row throws(PostgresError) in CredentialID(try row.int64()) })
    }

    /// Writes the credentials of one submission and activates them if asked: all of it or nothing.
    ///
    /// - Parameters:
    ///   - claim: the request's idempotency key; a repeated request has no second effect.
    ///   - answer: makes the request's answer; it is stored with the key.
    package func insert(
        _ credentials: [NewCredential], app: AppID, activate: Bool, once claim: IdempotencyClaim?,
        answer: @Sendable (WrittenCredentials) -> [UInt8]
    ) async throws(StoreFault) -> IdempotentReply {
        precondition(!credentials.isEmpty && credentials.allSatisfy { $0.app == app }, "all are of the request's app")
        let ids = credentials.map(\.id)
        let insertions = credentials.map { Self.insertion($0, submission: ids[0]) }
        let queries =
            activate
            ? [Self.lock(app)] + insertions + Self.activation(ids, app)
            : insertions + [Self.topicMismatches(ids, app)]
        let reply = try await translated(
            await pool.once(claim, of: app) { transaction throws(PostgresError) in
                let answers = try await transaction.run(queries)
                let mismatches = answers[answers.count - 1]
                guard activate else { return answer(try WrittenCredentials(answers.dropLast(), mismatches, ids)) }
                return answer(try WrittenCredentials([answers[answers.count - 2]], mismatches, ids))
            })
        if activate, case .done = reply { notifier.notify(.credentials) }
        return reply
    }

    /// The answer to an earlier request with this key; nil: there was none.
    package func earlier(_ claim: IdempotencyClaim, app: AppID) async throws(StoreFault) -> IdempotentReply? {
        try await translated(await claim.earlier(app: app, in: pool))
    }

    private static func insertion(_ credential: NewCredential, submission: CredentialID) -> Query {
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
            $0.int64("submission", submission.value)
        }
    }

    private static func lock(_ app: AppID) -> Query { Query(CredentialSQL.lockApp) { $0.int64("app", app.value) } }

    /// The last two statements return the credentials, and the topics that do not match.
    private static func activation(_ ids: [CredentialID], _ app: AppID) -> [Query] {
        [CredentialSQL.makeRoom, CredentialSQL.activate].map { query($0, ids, app) } + [topicMismatches(ids, app)]
    }

    private static func query(_ statement: Statement, _ ids: [CredentialID], _ app: AppID) -> Query {
        Query(statement) {
            $0.int64Array("credentials", ids.map(\.value))
            $0.int64("app", app.value)
        }
    }

    /// Activates credentials, for the first time or again, all or none; nil: one of them does not exist. The former
    /// ones of their slots retire in the same transaction.
    package func activate(_ ids: [CredentialID], app: AppID) async throws(StoreFault) -> WrittenCredentials? {
        let queries = [Self.lock(app)] + Self.activation(ids, app)
        let written = try await translated(
            await pool.transaction { transaction throws(PostgresError) -> WrittenCredentials? in
                let answers = try await transaction.run(queries)
                let written = try WrittenCredentials([answers[2]], answers[3], ids)
                guard written.records.count == ids.count else { return await transaction.abandon(returning: nil) }
                return written
            })
        if written != nil { notifier.notify(.credentials) }
        return written
    }

    package func list(app: AppID) async throws(StoreFault) -> [CredentialRecord] {
        let query = Query(CredentialSQL.list) { $0.int64("app", app.value) }
        return try await translated(await pool.read(query).map(CredentialRecord.init))
    }

    /// Retires credentials together; false: one of them does not exist. Retiring one again changes nothing.
    package func retire(_ ids: [CredentialID], app: AppID) async throws(StoreFault) -> Bool {
        try await change(Self.query(CredentialSQL.retire, ids, app)) == ids.count
    }

    package func delete(_ id: CredentialID, app: AppID) async throws(StoreFault) -> Bool {
        let query = Query(CredentialSQL.delete) {
            $0.int64("credential", id.value)
            $0.int64("app", app.value)
        }
        return try await change(query) > 0
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
        return try await translated(await pool.read(query).first(CredentialRecord.init))
    }

    /// Returns the number of changed rows.
    private func change(_ query: Query) async throws(StoreFault) -> Int {
        let count = try await translated(await pool.run(query).affectedRows)
        if count > 0 { notifier.notify(.credentials) }
        return count
    }
}
