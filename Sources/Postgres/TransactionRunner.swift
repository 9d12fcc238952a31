import Reactor

/// Keeps one transaction on one connection: what was begun, what failed, how it has to end. Pinned to the
/// connection's loop.
actor TransactionRunner {
    nonisolated let loop: ReactorLoop
    nonisolated var unownedExecutor: UnownedSerialExecutor { unsafe loop.asUnownedSerialExecutor() }

    let connection: PostgresConnection
    let options: TransactionOptions
    let deadline: Duration
    var state = State.fresh
    /// Travels with the next round trip.
    var dueSettings: [String] = []
    var copy = CopyState.none

    enum State {
        /// Nothing was sent: there is nothing to end. → begun, ended
        case fresh
        /// BEGIN was sent. → failed, abandoned, ended
        case begun
        /// An error stands; the rest waits for its ROLLBACK. → ended
        case failed(PostgresError)
        /// The body wants a ROLLBACK. → ended
        case abandoned
        case ended
    }

    init(_ connection: PostgresConnection, _ options: TransactionOptions, deadline: Duration) {
        self.connection = connection
        self.options = options
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

    /// After the body: COMMIT, or ROLLBACK with the error that stands.
    func end(isBodyDone: Bool) async throws(PostgresError) {
        defer { state = .ended }
        switch state {
        case .fresh, .ended: return
        case .begun where isBodyDone:
            do {
                let framing = Framing(opening: dueSettings, commits: true)
                _ = try await connection.run([], options.stake, framing: framing, deadline: deadline)
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
    /// Throws the error that stands already: after it the server would refuse everything anyway.
    private func opening() throws(PostgresError) -> Framing {
        switch state {
        case .fresh:
            state = .begun
            return Framing(
                opening: options.opening(statementTimeout: connection.timeoutStatement(deadline)) + takeDueSettings())
        case .begun, .abandoned: return Framing(opening: takeDueSettings())
        case .failed(let error): throw error
        case .ended: preconditionFailure("a transaction is not used after its end")
        }
    }

    private func takeDueSettings() -> [String] {
        defer { dueSettings = [] }
        return dueSettings
    }

    /// BEGIN on its own, where what follows can't travel with it.
    func beginNow() async throws(PostgresError) {
        let framing = try opening()
        if framing.opening.isEmpty { return }
        _ = try await recording { connection throws(PostgresError) in
            try await connection.run([], .nothing, framing: framing, deadline: self.deadline)
        }
    }

    /// The first error stands until the end.
    func recording<Answer: Sendable>(
        _ work: (PostgresConnection) async throws(PostgresError) -> Answer
    ) async throws(PostgresError) -> Answer {
        do {
            return try await work(connection)
        } catch {
            state = .failed(error)
            throw error
        }
    }
}
