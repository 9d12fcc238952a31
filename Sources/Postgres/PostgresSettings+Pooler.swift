import Reactor

extension PostgresSettings {
    private static let rounds = 3
    private static let process = Query(Statement(unprepared: "SELECT pg_backend_pid()"))

    /// Whether a session keeps its server process from one transaction to the next. A pooler that lends processes per
    /// transaction gives the next caller the one that became free last. So two idle sessions get the same.
    package func keepsSessions(on loop: ReactorLoop) async throws(PostgresError) -> Bool {
        let sessions = [PostgresConnection(self, loop: loop), PostgresConnection(self, loop: loop)]
        let outcome: Result<Bool, PostgresError>
        do throws(PostgresError) {
            for session in sessions { try await session.open() }
            outcome = .success(try await Self.areApart(sessions, deadline: connectTimeout))
        } catch { outcome = .failure(error) }
        for session in sessions { await session.close() }
        return try outcome.get()
    }

    private static func areApart(
        _ sessions: [PostgresConnection], deadline: Duration
    ) async throws(PostgresError) -> Bool {
        var first: [Int32] = []
        for _ in 0..<rounds {
            var found: [Int32] = []
            for session in sessions {
                found.append(
                    try await session.run([process], .nothing, deadline: deadline).only(process).one(Int32.init))
            }
            if first.isEmpty { first = found }
            guard found == first, found[0] != found[1] else { return false }
        }
        return true
    }
}
