import Reactor

/// One transaction on one connection: whether it has begun or failed, and how it must end. Pinned to the connection's
/// loop.
actor TransactionRunner: PinnedActor {
    nonisolated let loop: ReactorLoop

    private let connection: PostgresConnection
    private let options: TransactionOptions
    private let deadline: Duration
    private var state = State.fresh

    enum State {
        /// No bytes were sent, so there is no transaction to end. → begun, ended
        case fresh
        /// BEGIN was sent. → failed, abandoned, ended
        case begun
        /// An error occurred, and only a ROLLBACK may follow. → ended
        case failed(PostgresError)
        /// The body asked for a ROLLBACK. → ended
        case abandoned
        case ended
    }

    init(_ connection: PostgresConnection, _ options: TransactionOptions, deadline: Duration) {
        (self.connection, self.options) = (connection, options)
        self.deadline = options.deadline ?? deadline
        loop = connection.loop
    }

    func run(_ queries: [Query], commits: Bool) async throws(PostgresError) -> [ResultSet] {
        var framing = try opening()
        framing.commits = commits
        let stake: CommitStake = commits ? options.stake : .nothing
        let results = try await recording { connection throws(PostgresError) in
            try await connection.run(queries, stake, framing: framing, deadline: self.deadline)
        }
        if commits { state = .ended }
        return results
    }

    func script(_ sql: String) async throws(PostgresError) {
        try await beginNow()
        try await recording { connection throws(PostgresError) in
            try await connection.script(sql, .nothing, deadline: self.deadline)
        }
    }

    func abandon() {
        if case .ended = state { return }
        if case .failed = state { return }
        state = .abandoned
    }

    /// Ends the transaction after the body: COMMIT, or ROLLBACK with the recorded error.
    func end(isBodyDone: Bool) async throws(PostgresError) {
        defer { state = .ended }
        switch state {
        case .fresh, .ended: return
        case .begun where isBodyDone:
            do {
                _ = try await connection.run([], options.stake, framing: Framing(commits: true), deadline: deadline)
            } catch {
                await connection.rollBack()
                throw error
            }
        case .begun, .abandoned: await connection.rollBack()
        case .failed(let error):
            await connection.rollBack()
            throw error
        }
    }
}

extension TransactionRunner {
    /// Throws the recorded error, after which the server would refuse everything anyway.
    private func opening() throws(PostgresError) -> Framing {
        switch state {
        case .fresh:
            state = .begun
            return Framing(opening: options.opening(statementTimeout: connection.timeoutStatement(deadline)))
        case .begun, .abandoned: return Framing()
        case .failed(let error): throw error
        case .ended: preconditionFailure("a transaction is not used after its end")
        }
    }

    /// Sends BEGIN on its own, for statements that it can't travel with.
    private func beginNow() async throws(PostgresError) {
        let framing = try opening()
        if framing.opening.isEmpty { return }
        _ = try await recording { connection throws(PostgresError) in
            try await connection.run([], .nothing, framing: framing, deadline: self.deadline)
        }
    }

    private func recording<Answer: Sendable>(
        _ work: (PostgresConnection) async throws(PostgresError) -> Answer
    ) async throws(PostgresError) -> Answer {
        do { return try await work(connection) } catch {
            state = .failed(error)
            throw error
        }
    }
}
