import Basis
import Postgres
import Testing

private let smallest = UniversalID(high: 0, low: 0)
private let largest = UniversalID(high: .max, low: .max)

@Suite("Values sent to PostgreSQL and read back")
struct TypeTests {
    @Test("keep both ends of their type's range")
    func scalars() async throws {
        try await withPool { pool in
            let sql = """
                SELECT $1::int2, $2::int2, $3::int4, $4::int4, $5::int8, $6::int8, $7::bool, $8::bool, $9::text, $10::text,
                    $11::bytea, $12::bytea, $13::uuid, $14::uuid, $15::float8, $16::float8
                """
            let everyByte = (0...255).map { UInt8($0) }
            let rows = try await pool.run(
                query(sql) {
                    $0.int16(.min); $0.int16(.max); $0.int32(.min); $0.int32(.max); $0.int64(.min); $0.int64(.max)
                    $0.bool(true); $0.bool(false); $0.text(""); $0.text("Zwölf Uhr 🕛'\"\\")
                    $0.bytes([]); $0.bytes(everyByte); $0.uuid(smallest); $0.uuid(largest)
                    $0.double(-0.0); $0.double(.infinity)
                })
            #expect(rows.rowCount == 1 && rows.columnCount == 16)
            #expect(try rows.int16(0, 0) == .min && rows.int16(0, 1) == .max)
            #expect(try rows.int32(0, 2) == .min && rows.int32(0, 3) == .max)
            #expect(try rows.int64(0, 4) == .min && rows.int64(0, 5) == .max)
            #expect(try rows.bool(0, 6) && !rows.bool(0, 7))
            #expect(try rows.text(0, 8) == "" && rows.text(0, 9) == "Zwölf Uhr 🕛'\"\\")
            #expect(try rows.bytes(0, 10) == [] && rows.bytes(0, 11) == everyByte)
            #expect(try rows.uuid(0, 12) == smallest && rows.uuid(0, 13) == largest)
            #expect(try rows.double(0, 14).sign == .minus && rows.double(0, 15) == .infinity)
        }
    }

    @Test("keep instants to the microsecond, before 1970, around 2000, and at infinity")
    func instants() async throws {
        try await withPool { pool in
            let instants: [Int64] = [
                0, -1, 1, 946_684_800_000_000, 946_684_799_999_999, -62_135_596_800_000_000, 253_402_300_799_999_999,
                .max, .min,
            ]
            let rows = try await pool.run(
                query("SELECT i, i::text FROM unnest($1::timestamptz[]) WITH ORDINALITY AS t (i, n) ORDER BY n") {
                    $0.instantArray(instants.map { WallInstant(microseconds: $0) })
                })
            #expect(try rows.instantColumn(0).map(\.microseconds) == instants)
            #expect(try rows.text(0, 1) == "1970-01-01 00:00:00+00")
            #expect(try rows.text(3, 1) == "2000-01-01 00:00:00+00")
            #expect(try rows.text(7, 1) == "infinity" && rows.text(8, 1) == "-infinity")
        }
    }

    @Test("keep NULL in every type")
    func nulls() async throws {
        try await withPool { pool in
            let sql = """
                SELECT $1::int2, $2::int4, $3::int8, $4::bool, $5::text, $6::bytea, $7::uuid, $8::float8, $9::timestamptz,
                    $10::jsonb
                """
            let rows = try await pool.run(
                query(sql) {
                    $0.int16(nil); $0.int32(nil); $0.int64(nil); $0.bool(nil); $0.text(nil); $0.bytes(nil)
                    $0.uuid(nil); $0.double(nil); $0.instant(nil); $0.json(nil)
                })
            #expect((0..<10).allSatisfy { rows.isNull(0, $0) })
            #expect(try rows.int16OrNil(0, 0) == nil && rows.int32OrNil(0, 1) == nil && rows.int64OrNil(0, 2) == nil)
            #expect(try rows.boolOrNil(0, 3) == nil && rows.textOrNil(0, 4) == nil && rows.bytesOrNil(0, 5) == nil)
            #expect(try rows.uuidOrNil(0, 6) == nil && rows.doubleOrNil(0, 7) == nil)
            #expect(try rows.instantOrNil(0, 8) == nil && rows.jsonOrNil(0, 9) == nil)
        }
    }

    @Test("keep jsonb as its text")
    func json() async throws {
        try await withPool { pool in
            let rows = try await pool.run(
                query("SELECT $1::jsonb, $1::jsonb->>'a'") { $0.json(Array(#"{"a": "ü"}"#.utf8)) })
            #expect(try rows.json(0, 0) == Array(#"{"a": "ü"}"#.utf8))
            #expect(try rows.text(0, 1) == "ü")
            var flat: [UInt8] = []
            #expect(try rows.append(0, 0, to: &flat) == 11)
            #expect(try rows.append(0, 1, to: &flat) == 2)
            #expect(flat == Array(#"{"a": "ü"}ü"#.utf8))
        }
    }

    @Test("keep arrays that are unnested, with NULL elements")
    func unnest() async throws {
        try await withPool { pool in
            let sql = """
                SELECT * FROM unnest($1::int8[], $2::int4[], $3::int2[], $4::text[], $5::bytea[], $6::timestamptz[],
                    $7::bool[], $8::uuid[], $9::float8[], $10::jsonb[])
                """
            let rows = try await pool.run(
                query(sql) {
                    $0.int64Array([1, nil]); $0.int32Array([nil, -2]); $0.int16Array([3, nil])
                    $0.textArray(["vier", nil]); $0.bytesArray([nil, [5]])
                    $0.instantArray([WallInstant(microseconds: 6), nil]); $0.boolArray([nil, true])
                    $0.uuidArray([largest, nil]); $0.doubleArray([nil, 9.5]); $0.jsonArray([Array("10".utf8), nil])
                })
            #expect(rows.rowCount == 2)
            #expect(try rows.int64(0, 0) == 1 && rows.int64OrNil(1, 0) == nil)
            #expect(try rows.int32OrNil(0, 1) == nil && rows.int32(1, 1) == -2)
            #expect(try rows.int16(0, 2) == 3 && rows.text(0, 3) == "vier" && rows.bytes(1, 4) == [5])
            #expect(try rows.instant(0, 5).microseconds == 6 && rows.bool(1, 6) && rows.uuid(0, 7) == largest)
            #expect(try rows.double(1, 8) == 9.5 && rows.json(0, 9) == Array("10".utf8))
            #expect([3, 5, 7, 9].allSatisfy { rows.isNull(1, $0) })
        }
    }

    @Test("keep arrays, also empty ones")
    func arrays() async throws {
        try await withPool { pool in
            let rows = try await pool.run(
                query("SELECT $1::int8[], $2::text[], $3::bytea[], $4::uuid[], '{}'::int4[], '{3,-4}'::int2[]") {
                    $0.array(.int64, count: 1_000) { $1.int64(Int64($0)) }
                    $0.textArray(["a", ""]); $0.bytesArray([[], [0, 255]]); $0.uuidArray([largest])
                })
            #expect(try rows.int64Array(0, 0) == (0..<1_000).map { Int64($0) })
            #expect(try rows.textArray(0, 1) == ["a", ""] && rows.bytesArray(0, 2) == [[], [0, 255]])
            #expect(try rows.uuidArray(0, 3) == [largest] && rows.int32Array(0, 4) == [])
            #expect(try rows.int16Array(0, 5) == [3, -4])
        }
    }
}

@Suite("A query result of an unexpected shape")
struct ShapeTests {
    @Test("throws an error, and never traps", arguments: 0..<9)
    func unexpected(which: Int) async throws {
        try await withPool { pool in
            let statement = Statement(
                "shape", "SELECT 1::int4, NULL::int8, '{{1}}'::int8[], '{1,NULL}'::int8[], 'x'::text")
            let rows = try await pool.run(Query(statement))
            let error = await failure { () throws(PostgresError) in
                switch which {
                case 0: _ = try rows.int64(0, 0)
                case 1: _ = try rows.int64(0, 1)
                case 2: _ = try rows.int64Array(0, 2)
                case 3: _ = try rows.int64Array(0, 3)
                case 4: _ = try rows.int32(1, 0)
                case 5: _ = try rows.int32(-1, 0)
                case 6: _ = try rows.text(0, 5)
                case 7: _ = try rows.bytes(0, -1)
                default: _ = try rows.json(0, 4)
                }
            }
            let column = [0, 1, 2, 3, 0, 0, 5, -1, 4][which]
            #expect(error == .unexpectedShape(statement: "shape", column: column))
        }
    }

    @Test("throws an error if a prepared statement gets other parameter types")
    func parameterTypes() async throws {
        try await withPool { pool in
            let statement = Statement("two_faces", "SELECT $1")
            _ = try await pool.run(Query(statement) { $0.int64(1) })
            let error = await failure { () async throws(PostgresError) in
                try await pool.run(Query(statement) { $0.int32(1) })
            }
            #expect(error == .unexpectedShape(statement: "two_faces", column: -1))
            #expect(try await pool.run(Query(statement) { $0.int64(2) }).int64(0, 0) == 2)
        }
    }
}
