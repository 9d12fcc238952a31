import Basis
import Postgres
import Testing

private func makeTable(_ pool: PostgresPool) async throws -> String {
    let name = uniqueName("imported")
    try await pool.script("CREATE TABLE \(name) (id int8 PRIMARY KEY, token bytea, seen timestamptz, name text)")
    return name
}

private func fill(_ writer: CopyWriter, _ ids: Range<Int64>) async throws(PostgresError) {
    var rows = CopyRows(columns: 4)
    for id in ids {
        rows.row { cell in
            cell.int64(id)
            cell.bytes([UInt8(truncatingIfNeeded: id), 0, 255])
            cell.instant(WallInstant(microseconds: id))
            if id % 10 == 0 { cell.null() } else { cell.text("Gerät \(id)") }
        }
        if rows.isFull {
            try await writer.write(rows)
            rows.removeAll()
        }
    }
    try await writer.write(rows)
}

@Suite("COPY")
struct CopyTests {
    @Test("writes a hundred thousand rows and reads them back")
    func hundredThousand() async throws {
        try await withPool { pool in
            let name = try await makeTable(pool)
            let count = try await pool.copyIn("COPY \(name) FROM STDIN (FORMAT binary)") {
                writer async throws(PostgresError) in try await fill(writer, 0..<100_000)
            }
            #expect(count == 100_000)
            let sql = "COPY (SELECT id, token, seen, name FROM \(name) ORDER BY id) TO STDOUT (FORMAT binary)"
            let seen = try await pool.copyOut(sql) { reader async throws(PostgresError) in
                var next: Int64 = 0
                while let rows = try await reader.next() {
                    for row in 0..<rows.rowCount {
                        let id = try rows.int64(row, 0)
                        let name = rows.isNull(row, 3) ? nil : try rows.text(row, 3)
                        let token = try rows.bytes(row, 1)
                        let instant = try rows.instant(row, 2)
                        guard id == next, token == [UInt8(truncatingIfNeeded: id), 0, 255], instant.microseconds == id,
                            name == (id % 10 == 0 ? nil : "Gerät \(id)")
                        else { return Int64(-1) }
                        next += 1
                    }
                }
                return next
            }
            #expect(seen == 100_000)
            #expect(await pool.census().open == 1)
        }
    }

    @Test("keeps no row if its body throws, and leaves the connection clean")
    func abandoned() async throws {
        try await withPool { pool in
            let name = try await makeTable(pool)
            let error = await failure { () async throws(PostgresError) in
                try await pool.copyIn("COPY \(name) FROM STDIN (FORMAT binary)") {
                    writer async throws(PostgresError) in
                    try await fill(writer, 0..<50_000)
                    throw PostgresError.cancelled
                }
            }
            #expect(error == .cancelled)
            #expect(try await pool.count(name) == 0)
            #expect(await pool.census().open == 1)
        }
    }

    @Test("fails with the name of the violated constraint, and keeps no row")
    func refused() async throws {
        try await withPool { pool in
            let name = try await makeTable(pool)
            let error = await failure { () async throws(PostgresError) in
                try await pool.copyIn("COPY \(name) FROM STDIN (FORMAT binary)") {
                    writer async throws(PostgresError) in
                    try await fill(writer, 0..<10_000)
                    try await fill(writer, 5_000..<20_000)
                }
            }
            #expect(
                error
                    == .refused(
                        Refusal(sqlState: .uniqueViolation, statement: "COPY", constraint: "\(name)_pkey")))
            #expect(try await pool.count(name) == 0)
        }
    }

    @Test("reports why it cannot begin")
    func wrongTable() async throws {
        try await withPool { pool in
            let error = await failure { () async throws(PostgresError) in
                try await pool.copyIn("COPY no_such_table FROM STDIN") { _ async throws(PostgresError) in }
            }
            #expect(error?.sqlState == .undefinedTable)
            _ = try await pool.run(query("SELECT 1"))
        }
    }

    @Test("fills a temporary table that the same transaction merges")
    func staged() async throws {
        try await withPool { pool in
            let name = try await makeTable(pool)
            _ = try await pool.run(query("INSERT INTO \(name) (id, name) VALUES (3, 'old')"))
            let merged = try await pool.transaction { transaction async throws(PostgresError) in
                try await transaction.script("CREATE TEMP TABLE staged (LIKE \(name)) ON COMMIT DROP")
                _ = try await transaction.copyIn("COPY staged FROM STDIN (FORMAT binary)") {
                    writer async throws(PostgresError) in try await fill(writer, 1..<6)
                }
                let timeout = try await transaction.run(query("SHOW statement_timeout")).one(String.init)
                #expect(timeout == "30s")
                return try await transaction.run(
                    query("INSERT INTO \(name) SELECT * FROM staged ON CONFLICT DO NOTHING")
                ).affectedRows
            }
            #expect(merged == 4)
        }
    }

    @Test("reads and writes text; a reader may stop early")
    func text() async throws {
        try await withPool { pool in
            let name = try await makeTable(pool)
            let rows = try await pool.copyIn("COPY \(name) (id, name) FROM STDIN (FORMAT csv)") {
                writer async throws(PostgresError) in
                try await writer.write(text: Array("1,\"a, b\"\n2,".utf8))
                try await writer.write(text: Array("c\n".utf8))
            }
            #expect(rows == 2)
            let first = try await pool.copyOut("COPY (SELECT * FROM generate_series(1, 3000000)) TO STDOUT") {
                reader async throws(PostgresError) in try await reader.nextBytes()
            }
            #expect(first?.prefix(4).elementsEqual("1\n2\n".utf8) == true)
            #expect(try await pool.read(query("SELECT name FROM \(name) WHERE id = 1")).one(String.init) == "a, b")
        }
    }

    @Test("fails in the middle of reading if a row cannot be computed")
    func failsLate() async throws {
        try await withPool { pool in
            let sql = "COPY (SELECT 1 / (200000 - i) FROM generate_series(1, 300000) AS i) TO STDOUT (FORMAT binary)"
            let error = await failure { () async throws(PostgresError) in
                try await pool.copyOut(sql) { reader async throws(PostgresError) in
                    while try await reader.next() != nil {}
                }
            }
            #expect(error?.sqlState == .divisionByZero)
        }
    }

    @Test("accepts an empty set of rows in both directions")
    func empty() async throws {
        try await withPool { pool in
            let name = try await makeTable(pool)
            let binary = "COPY \(name) FROM STDIN (FORMAT binary)"
            let written = try await pool.copyIn(binary) { writer async throws(PostgresError) in
                try await writer.write(CopyRows(columns: 4))
            }
            #expect(written == 0)
            let read = try await pool.copyOut("COPY \(name) TO STDOUT (FORMAT binary)") {
                reader async throws(PostgresError) in
                var count = 0
                while let rows = try await reader.next() { count += rows.rowCount }
                return count
            }
            #expect(read == 0)
        }
    }
}
