import Postgres
import TestSupport
import Testing

@Suite("Pipelined queries")
struct PipelineTests {
    @Test("return their results one by one, in order")
    func order() async throws {
        try await withPool { pool in
            let named = Statement("twice", "SELECT :number * 2")
            let results = try await pool.run((0..<100).map { number in Query(named) { $0.int32("number", number) } })
            #expect(results.count == 100)
            for (index, result) in results.enumerated() { #expect(try result.one(Int32.init) == Int32(index * 2)) }
        }
    }

    @Test("roll back together if one fails; the error names statement and constraint, but no value")
    func rolledBack() async throws {
        try await withPool { pool in
            let table = uniqueName("pairs")
            try await pool.script(
                "CREATE TABLE \(table) (id int8 CONSTRAINT pairs_are_unique PRIMARY KEY, secret text)")
            let insert = Statement("insert_pair", "INSERT INTO \(table) VALUES (:id, :secret)")
            let error = await failure { () async throws(PostgresError) in
                try await pool.run([1, 1, 2].map { id in Query(insert) { $0.pair(id) } })
            }
            #expect(
                error
                    == .refused(
                        Refusal(sqlState: .uniqueViolation, statement: "insert_pair", constraint: "pairs_are_unique")))
            #expect(error.map { "\($0)" } == "SQLSTATE 23505, statement insert_pair, constraint pairs_are_unique")
            #expect(try await pool.count(table) == 0)
            _ = try await pool.run(Query(insert) { $0.pair(1) })
            #expect(try await pool.count(table) == 1)
        }
    }

    @Test("roll back with their BEGIN and COMMIT, and leave the connection clean")
    func framed() async throws {
        try await withPool { pool in
            let table = uniqueName("framed")
            try await pool.script("CREATE TABLE \(table) (id int8 PRIMARY KEY)")
            let insert = Statement("insert_framed", "INSERT INTO \(table) VALUES (:id)")
            let options = TransactionOptions(lockTimeout: .seconds(1))
            let error = await failure { () async throws(PostgresError) in
                try await pool.run(
                    [Query(insert) { $0.int64("id", 1) }, Query(insert) { $0.int64("id", 1) }], transaction: options)
            }
            #expect(error?.sqlState == .uniqueViolation)
            #expect(try await pool.count(table) == 0)
            let answers = try await pool.run(
                [Query(insert) { $0.int64("id", 1) }, query("SHOW lock_timeout")], transaction: options)
            #expect(try answers[1].one(String.init) == "1s")
            #expect(try await pool.count(table) == 1)
            #expect(await pool.census().open == 1)
        }
    }

    @Test("prepare a statement once per connection, even if it occurs twice in the first batch")
    func preparedOnce() async throws {
        try await withPool(pool: patient(1)) { pool in
            let named = Statement("once", "SELECT :number")
            for _ in 0..<3 {
                _ = try await pool.run([Query(named) { $0.int64("number", 1) }, Query(named) { $0.int64("number", 2) }])
            }
            let kept = try await pool.read(query("SELECT name FROM pg_prepared_statements")).map(String.init)
            #expect(kept == ["once"])
        }
    }

    @Test("prepare a statement at its next use if its first preparation failed")
    func refusedPreparation() async throws {
        try await withPool { pool in
            let table = uniqueName("late")
            let named = Statement("read_late", "SELECT count(*) FROM \(table)")
            let error = await failure { () async throws(PostgresError) in try await pool.run(Query(named)) }
            #expect(error == .refused(Refusal(sqlState: SQLState("42P01"), statement: "read_late", position: 22)))
            try await pool.script("CREATE TABLE \(table) ()")
            #expect(try await pool.run(Query(named)).one(Int64.init) == 0)
        }
    }

    @Test("recover when a migration has made a prepared plan stale")
    func stalePlans() async throws {
        try await withPool { pool in
            let table = uniqueName("migrated")
            try await pool.script("CREATE TABLE \(table) (a int4); INSERT INTO \(table) VALUES (7)")
            let named = Statement("read_all", "SELECT * FROM \(table)")
            #expect(try await pool.run(Query(named)).one(Int32.init) == 7)
            try await pool.script("ALTER TABLE \(table) ALTER a TYPE int8")
            let error = await failure { () async throws(PostgresError) in try await pool.run(Query(named)) }
            #expect(error?.sqlState == .featureNotSupported && error?.isTransient == true)
            #expect(try await pool.run(Query(named)).one(Int64.init) == 7)
        }
    }

    @Test("carry a parameter and a result of 32 MB")
    func large() async throws {
        try await withPool { pool in
            let bytes = [UInt8](repeating: 7, count: 32 << 20)
            let answer = try await pool.run(query("SELECT :bytes::bytea, length(:bytes)") { $0.bytes("bytes", bytes) })
            let read = try answer.one { row throws(PostgresError) in (bytes: try row.bytes(), length: try row.int32()) }
            #expect(read.bytes == bytes && read.length == 32 << 20)
        }
    }

    @Test("carry large data in both directions at once without a deadlock")
    func largeBothWays() async throws {
        try await withPool { pool in
            let echo = Statement("echo", "SELECT :bytes")
            let bytes = [UInt8](repeating: 7, count: 1 << 20)
            let answers = try await pool.run((0..<64).map { _ in Query(echo) { $0.bytes("bytes", bytes) } })
            let sizes = try answers.map { answer in
                try answer.one { row throws(PostgresError) in try row.bytes().count }
            }
            #expect(sizes == [Int](repeating: 1 << 20, count: 64))
        }
    }

    @Test("find their session configured")
    func session() async throws {
        try await withPool { pool in
            let shown = try await pool.read(
                ["application_name", "timezone", "client_min_messages", "client_encoding", "statement_timeout"]
                    .map { query("SHOW \($0)") })
            let values = try shown.map { try $0.one(String.init) }
            #expect(values == ["carillon", "UTC", "warning", "UTF8", "30s"])
        }
    }
}

extension Parameters {
    fileprivate mutating func pair(_ id: Int64) {
        int64("id", id)
        text("secret", "hunter2")
    }
}
