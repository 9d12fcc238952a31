import Postgres

/// A reference: rows inserted one by one, each with its own commit that waits for the disk, as the gateway's do. No
/// durable service can do with less. The rows lie in a database beside the gateway's, on the same server.
struct ReferenceCommits: Sendable {
    private let pool: PostgresPool
    /// The number of senders; each has its own connection.
    let senders: Int

    static func within<Answer>(
        _ world: BenchWorld, senders: Int, _ body: (ReferenceCommits) async throws -> Answer
    ) async throws -> Answer {
        try await ReferenceDatabase.within(world) {
            try await world.withDatabase(ReferenceDatabase.name, connectionsMax: senders) { pool in
                try await pool.script("CREATE TABLE commits (number bigint NOT NULL)")
                return try await body(ReferenceCommits(pool: pool, senders: senders))
            }
        }
    }

    func commit(_ number: Int) async throws {
        _ = try await pool.run(Query(Self.insert) { $0.int64(Int64(number)) })
    }

    /// Inserts so many rows from all senders at once.
    ///
    /// - Returns: the time from the start to the last answer.
    func run(_ count: Int) async throws -> Duration {
        let clock = ContinuousClock()
        let start = clock.now
        try await withThrowingTaskGroup(of: Void.self) { group in
            for sender in 0..<senders {
                group.addTask {
                    for number in stride(from: sender, to: count, by: senders) { try await commit(number) }
                }
            }
            try await group.waitForAll()
        }
        return clock.now - start
    }

    private static let insert = Statement("bench_commit", "INSERT INTO commits (number) VALUES ($1)")
}
