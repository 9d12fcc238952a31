import Postgres
import Reactor
import Synchronization
import Testing

@Suite("A condition of the database")
struct ConditionTests {
    @Test(
        "has a name for a read-only server, a full disk and a failing one, and for nothing else",
        arguments: [
            (SQLState.readOnlyTransaction, DatabaseCondition.readOnly as DatabaseCondition?), (.diskFull, .full),
            (.ioError, .failing), (.tooManyConnections, nil), (.uniqueViolation, nil), (.unreadable, nil),
        ])
    func states(state: SQLState, condition: DatabaseCondition?) {
        #expect(DatabaseCondition(state) == condition)
        let refused = PostgresError.refused(Refusal(sqlState: state, statement: "device_insert"))
        #expect(refused.condition == condition)
    }

    @Test("reaches the owner of the pool with each conversation that fails for it")
    func reported() async throws {
        let loop = try ReactorLoop(name: "conditions")
        defer { loop.stop() }
        let reported = Reported()
        let pool = PostgresPool(
            try await SharedServer.settings(), pool: patient(), loop: loop, impaired: { reported.add($0) })
        _ = try await pool.run(query("SELECT 1"))
        _ = await failure { () async throws(PostgresError) in try await pool.run(query("SELECT 1 / 0")) }
        #expect(reported.conditions == [])
        for _ in 1...2 {
            let error = await failure { () async throws(PostgresError) in
                try await pool.transaction(TransactionOptions(isReadOnly: true)) {
                    transaction async throws(PostgresError) in
                    _ = try await transaction.run(query("CREATE TABLE never (id int8)"))
                }
            }
            #expect(error?.condition == .readOnly)
        }
        #expect(reported.conditions == [.readOnly, .readOnly])
        await pool.close()
    }

    private final class Reported: Sendable {
        private let list = Mutex<[DatabaseCondition]>([])

        var conditions: [DatabaseCondition] { list.withLock { $0 } }
        func add(_ condition: DatabaseCondition) { list.withLock { $0.append(condition) } }
    }
}
