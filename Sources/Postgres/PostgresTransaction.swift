package struct TransactionOptions: Sendable {
    package var isReadOnly: Bool
    /// The longest wait for any one lock, which then fails with 55P03. nil: as long as the statement may run.
    package var lockTimeout: Duration?
    /// The deadline of each round trip; nil: the pool's.
    package var deadline: Duration?

    package init(isReadOnly: Bool = false, lockTimeout: Duration? = nil, deadline: Duration? = nil) {
        (self.isReadOnly, self.lockTimeout, self.deadline) = (isReadOnly, lockTimeout, deadline)
    }

    var stake: CommitStake { isReadOnly ? .nothing : .commit }

    func opening(statementTimeout: String?) -> [String] {
        var statements = ["BEGIN ISOLATION LEVEL READ COMMITTED\(isReadOnly ? " READ ONLY" : "")"]
        if let lockTimeout { statements.append("SET LOCAL lock_timeout = \(lockTimeout.wholeMilliseconds)") }
        if let statementTimeout { statements.append(statementTimeout) }
        return statements
    }
}

/// Several round trips of one transaction. Used by one task at a time, and not after its body has returned.
package struct PostgresTransaction: Sendable {
    private let runner: TransactionRunner

    init(_ runner: TransactionRunner) { self.runner = runner }

    /// Runs one round trip. BEGIN travels with the first.
    package func run(_ queries: [Query]) async throws(PostgresError) -> [ResultSet] {
        try await runner.run(queries, commits: false)
    }

    package func run(_ query: Query) async throws(PostgresError) -> ResultSet {
        try await runner.run([query], commits: false).only(query)
    }

    /// Runs the last round trip, with the COMMIT. No other may follow.
    package func runAndCommit(_ queries: [Query]) async throws(PostgresError) -> [ResultSet] {
        try await runner.run(queries, commits: true)
    }

    /// Runs SQL text of several statements and drops their rows. Never give it a COMMIT.
    package func script(_ sql: String) async throws(PostgresError) { try await runner.script(sql) }

    /// Rolls back at the end. The body returns the answer, which still goes to the caller.
    package func abandon<Answer: Sendable>(returning answer: Answer) async -> Answer {
        await runner.abandon()
        return answer
    }
}

extension [ResultSet] {
    func only(_ query: Query) throws(PostgresError) -> ResultSet {
        guard let first, count == 1 else { throw .unexpectedShape(statement: query.statement.name, column: -1) }
        return first
    }
}
