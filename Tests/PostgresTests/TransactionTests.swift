import Postgres
import Testing

private func table(_ pool: PostgresPool, _ rows: String = "") async throws -> String {
    let name = uniqueName("ledger")
    try await pool.script(
        "CREATE TABLE \(name) (id int8 PRIMARY KEY, amount int8 DEFAULT 0 CHECK (amount >= 0)); \(rows)")
    if rows.isEmpty { try await pool.script("INSERT INTO \(name) VALUES (1, 10), (2, 10)") }
    return name
}

@Suite("A transaction of several round trips")
struct TransactionTests {
    @Test("commits after its body returns")
    func commits() async throws {
        try await withPool { pool in
            let ledger = try await table(pool)
            let sum = try await pool.transaction { transaction async throws(PostgresError) in
                _ = try await transaction.run(query("UPDATE \(ledger) SET amount = 20 WHERE id = 1"))
                return try await transaction.run(query("SELECT sum(amount)::int8 FROM \(ledger)")).one(Int64.init)
            }
            #expect(sum == 30)
            #expect(try await pool.read(query("SELECT sum(amount)::int8 FROM \(ledger)")).one(Int64.init) == 30)
        }
    }

    @Test("rolls back when its body throws, and throws the body's error")
    func throwing() async throws {
        try await withPool { pool in
            let ledger = try await table(pool)
            let error = await failure { () async throws(PostgresError) in
                try await pool.transaction { transaction async throws(PostgresError) in
                    _ = try await transaction.run(query("DELETE FROM \(ledger)"))
                    throw PostgresError.cancelled
                }
            }
            #expect(error == .cancelled)
            #expect(try await pool.count(ledger) == 2)
            #expect(await pool.census().open == 1)
        }
    }

    @Test("rolls back when it is abandoned, and still returns its body's result")
    func abandoned() async throws {
        try await withPool { pool in
            let ledger = try await table(pool)
            let deleted = try await pool.transaction { transaction async throws(PostgresError) -> Int in
                let gone = try await transaction.run(query("DELETE FROM \(ledger)")).affectedRows
                return await transaction.abandon(returning: gone)
            }
            #expect(deleted == 2)
            #expect(try await pool.count(ledger) == 2)
        }
    }

    @Test("fails if its body ignores a statement's error, and sends no further statement")
    func swallowed() async throws {
        try await withPool { pool in
            let ledger = try await table(pool)
            let error = await failure { () async throws(PostgresError) in
                try await pool.transaction { transaction async throws(PostgresError) in
                    _ = try await transaction.run(query("UPDATE \(ledger) SET amount = 5"))
                    do throws(PostgresError) {
                        _ = try await transaction.run(query("UPDATE \(ledger) SET amount = -1"))
                    } catch {}
                    do throws(PostgresError) { _ = try await transaction.run(query("SELECT 1")) } catch {
                        #expect(error.sqlState == SQLState("23514"))
                    }
                }
            }
            #expect(error?.sqlState == SQLState("23514"))
            #expect(try await pool.read(query("SELECT sum(amount)::int8 FROM \(ledger)")).one(Int64.init) == 20)
        }
    }

    @Test("can send its COMMIT together with the last queries")
    func runAndCommit() async throws {
        try await withPool { pool in
            let ledger = try await table(pool)
            try await pool.transaction { transaction async throws(PostgresError) in
                _ = try await transaction.run(query("SELECT * FROM \(ledger) FOR UPDATE"))
                _ = try await transaction.runAndCommit([query("DELETE FROM \(ledger)")])
            }
            #expect(try await pool.count(ledger) == 0)
        }
    }

    @Test("fails at COMMIT if a deferred constraint is violated", arguments: [true, false])
    func deferred(together: Bool) async throws {
        try await withPool { pool in
            let name = uniqueName("deferred")
            try await pool.script(
                "CREATE TABLE \(name) (id int8 CONSTRAINT \(name)_once UNIQUE DEFERRABLE INITIALLY DEFERRED)")
            let insert = query("INSERT INTO \(name) VALUES (1), (1)")
            let error = await failure { () async throws(PostgresError) in
                try await pool.transaction { transaction async throws(PostgresError) in
                    if together {
                        _ = try await transaction.runAndCommit([insert])
                    } else {
                        _ = try await transaction.run([insert])
                    }
                }
            }
            #expect(
                error
                    == .refused(
                        Refusal(sqlState: .uniqueViolation, statement: "COMMIT", constraint: "\(name)_once")))
            #expect(try await pool.count(name) == 0)
        }
    }

    @Test("stops waiting for a lock after the lock timeout")
    func lockTimeout() async throws {
        try await withPool { pool in
            let ledger = try await table(pool)
            try await pool.transaction { transaction async throws(PostgresError) in
                _ = try await transaction.run(query("SELECT * FROM \(ledger) FOR UPDATE"))
                let error = await failure { () async throws(PostgresError) in
                    try await pool.run(
                        [query("DELETE FROM \(ledger)")],
                        transaction: TransactionOptions(lockTimeout: .milliseconds(20)))
                }
                #expect(error?.sqlState == .lockNotAvailable && error?.isTransient == true)
            }
        }
    }

    @Test("runs scripts of several statements, and keeps nothing if one fails")
    func script() async throws {
        try await withPool { pool in
            let name = uniqueName("scripted")
            let good = "CREATE TABLE \(name) (id int8); INSERT INTO \(name) VALUES (1); INSERT INTO \(name) VALUES (2);"
            let error = await failure { () async throws(PostgresError) in
                try await pool.transaction { transaction async throws(PostgresError) in
                    try await transaction.script(good)
                    try await transaction.script("SELECT 1; SELECT 1/0;")
                }
            }
            #expect(error?.sqlState == SQLState("22012"))
            try await pool.transaction { transaction async throws(PostgresError) in
                _ = try await transaction.run(query("SELECT pg_advisory_xact_lock(4711)"))
                try await transaction.script(good)
            }
            #expect(try await pool.count(name) == 2)
        }
    }

    @Test("rejects writes if it is read-only")
    func readOnly() async throws {
        try await withPool { pool in
            let ledger = try await table(pool)
            let error = await failure { () async throws(PostgresError) in
                try await pool.transaction(TransactionOptions(isReadOnly: true)) {
                    transaction async throws(PostgresError) in
                    _ = try await transaction.run(query("DELETE FROM \(ledger)"))
                }
            }
            #expect(error?.sqlState == .readOnlyTransaction)
        }
    }
}

@Suite("Conflicting transactions")
struct ConflictTests {
    @Test("retry after a deadlock until both succeed")
    func deadlock() async throws {
        try await withPool { pool in
            let ledger = try await table(pool)
            try await withThrowingTaskGroup(of: Void.self) { group in
                for order in [[1, 2], [2, 1]] {
                    group.addTask {
                        for _ in 0..<5 {
                            try await pool.retryingConflicts(attemptsMax: 50) { () async throws(PostgresError) in
                                try await increment(pool, ledger, order)
                            }
                        }
                    }
                }
                try await group.waitForAll()
            }
            let sum = try await pool.read(query("SELECT sum(amount)::int8 FROM \(ledger)")).one(Int64.init)
            #expect(sum == 20 + 2 * 5 * 2)
        }
    }

    @Test("give up after the last attempt, and return the conflict as the error")
    func bounded() async throws {
        try await withPool { pool in
            let attempts = Counter()
            let error = await failure { () async throws(PostgresError) in
                try await pool.retryingConflicts(attemptsMax: 3) { () async throws(PostgresError) in
                    await attempts.increment()
                    try await pool.script("DO $$ BEGIN RAISE EXCEPTION USING ERRCODE = '40001'; END $$")
                }
            }
            #expect(error?.sqlState == .serializationFailure)
            #expect(await attempts.value == 3)
        }
    }

    private func increment(_ pool: PostgresPool, _ ledger: String, _ order: [Int]) async throws(PostgresError) {
        try await pool.transaction { transaction async throws(PostgresError) in
            _ = try await transaction.run(query("SET LOCAL deadlock_timeout = '5ms'"))
            for id in order {
                _ = try await transaction.run(query("UPDATE \(ledger) SET amount = amount + 1 WHERE id = \(id)"))
            }
        }
    }
}

actor Counter {
    private(set) var value = 0
    func increment() { value += 1 }
}
