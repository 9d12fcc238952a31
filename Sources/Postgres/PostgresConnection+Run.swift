/// The statements around the queries of one round trip.
struct Framing: Sendable {
    /// The statements sent before: BEGIN, SET LOCAL, ROLLBACK.
    var opening: [String] = []
    /// Whether COMMIT follows the last query.
    var commits = false
}

extension PostgresConnection {
    /// Runs one round trip: all queries are sent at once, and all succeed or none does. After an error, a transaction
    /// opened by a BEGIN still needs `rollBack`.
    func run(
        _ queries: [Query], _ stake: CommitStake, framing: Framing = Framing(), deadline: Duration
    ) async throws(PostgresError) -> [ResultSet] {
        do { return try await exchange(queries, stake, framing, deadline) } catch {
            if case .refused(let refusal) = error, refusal.leavesStalePlans { end(.lost) }
            throw error
        }
    }

    /// Runs SQL text of several statements in the simple protocol.
    func script(_ sql: String, _ stake: CommitStake, deadline: Duration) async throws(PostgresError) {
        try require { !$0.isPipelined || $0.exitPipeline() }
        try require { $0.sendScript(sql) }
        let conversation = ScriptConversation(stake)
        let outcome = await withCheckedContinuation { continuation in
            conversation.waiter = continuation
            start(conversation, deadline: deadline)
        }
        try outcome.get()
    }

    /// Ends any transaction, or closes the connection if that fails.
    func rollBack() async {
        guard let handle, !handle.isIdle else { return }
        do {
            _ = try await exchange([], .nothing, Framing(opening: ["ROLLBACK"]), PostgresConnection.rollBackMax)
        } catch { end(.lost) }
        if self.handle?.isIdle != true { end(.lost) }
    }

    /// A ROLLBACK waits for no lock. If it takes longer, the server is in trouble, and closing has the same effect.
    private static let rollBackMax: Duration = .seconds(5)

    private func exchange(
        _ queries: [Query], _ stake: CommitStake, _ framing: Framing, _ deadline: Duration
    ) async throws(PostgresError) -> [ResultSet] {
        try require { $0.isPipelined || $0.enterPipeline() }
        try checkTypes(queries)
        guard let expectations = send(queries, framing) else {
            // The Sync never left, so whatever did is rolled back.
            end(.lost)
            throw .connectionLost
        }
        let conversation = PipelineConversation(expectations, stake)
        let answer = await withCheckedContinuation { continuation in
            conversation.waiter = continuation
            start(conversation, deadline: deadline)
        }
        for statement in answer.newlyPrepared where handle != nil { prepared[statement.name] = statement.types }
        return try answer.outcome.get()
    }

    /// Throws if one name comes with two lists of types.
    private func checkTypes(_ queries: [Query]) throws(PostgresError) {
        var seen = prepared
        for query in queries where !query.statement.name.isEmpty {
            let types = seen[query.statement.name] ?? query.parameters.types
            guard types == query.parameters.types else {
                throw .unexpectedShape(statement: query.statement.name, column: -1)
            }
            seen[query.statement.name] = types
        }
    }
}

extension PostgresConnection {
    /// Returns nil if the connection is broken or a message is too large.
    private func send(_ queries: [Query], _ framing: Framing) -> [PipelineConversation.Expectation]? {
        guard let handle else { return nil }
        var expectations: [PipelineConversation.Expectation] = []
        for sql in framing.opening {
            guard handle.sendUnprepared(sql, Parameters()) else { return nil }
            expectations.append(.control)
        }
        for query in queries {
            guard send(query, on: handle, &expectations) else { return nil }
        }
        if framing.commits {
            guard handle.sendUnprepared("COMMIT", Parameters()) else { return nil }
            expectations.append(.commit)
        }
        return handle.sendSync() ? expectations : nil
    }

    private func send(
        _ query: Query, on handle: LibpqHandle, _ expectations: inout [PipelineConversation.Expectation]
    ) -> Bool {
        let (statement, parameters) = (query.statement, query.parameters)
        guard prepares(statement.name) else {
            expectations.append(.query(statement))
            return handle.sendUnprepared(statement.sql, parameters)
        }
        if prepared[statement.name] == nil, !expectations.contains(where: { $0.prepares(statement.name) }) {
            guard handle.sendPreparation(statement, types: parameters.types) else { return false }
            expectations.append(.preparation(name: statement.name, types: parameters.types))
        }
        expectations.append(.query(statement))
        return handle.sendPrepared(statement.name, parameters)
    }

    private func prepares(_ name: String) -> Bool {
        !name.isEmpty && (prepared[name] != nil || prepared.count < PostgresConnection.preparedMax)
    }

    private func require(_ isReady: (LibpqHandle) -> Bool) throws(PostgresError) {
        if let handle, isReady(handle) { return }
        end(.lost)
        throw .connectionLost
    }
}

extension PipelineConversation.Expectation {
    func prepares(_ name: String) -> Bool {
        if case .preparation(name, _) = self { return true }
        return false
    }
}

extension PostgresConnection {
    /// A statement timeout for this transaction, if its deadline is shorter than the session's.
    nonisolated func timeoutStatement(_ deadline: Duration) -> String? {
        guard deadline < settings.statementTimeout else { return nil }
        return "SELECT set_config('statement_timeout', '\(deadline.wholeMilliseconds)', true)"
    }
}
