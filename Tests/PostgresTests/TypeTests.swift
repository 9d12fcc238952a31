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
                SELECT :int16_min::int2, :int16_max::int2, :int32_min::int4, :int32_max::int4, :int64_min::int8,
                    :int64_max::int8, :yes::bool, :no::bool, :empty::text, :text::text, :no_bytes::bytea, :bytes::bytea,
                    :uuid_min::uuid, :uuid_max::uuid, :zero::float8::text, :infinity::float8::text
                """
            let everyByte = (0...255).map { UInt8($0) }
            let text = "Zwölf Uhr 🕛'\"\\"
            let rows = try await pool.run(
                query(sql) {
                    $0.int16("int16_min", .min)
                    $0.int16("int16_max", .max)
                    $0.int32("int32_min", .min)
                    $0.int32("int32_max", .max)
                    $0.int64("int64_min", .min)
                    $0.int64("int64_max", .max)
                    $0.bool("yes", true)
                    $0.bool("no", false)
                    $0.text("empty", "")
                    $0.text("text", text)
                    $0.bytes("no_bytes", [])
                    $0.bytes("bytes", everyByte)
                    $0.uuid("uuid_min", smallest)
                    $0.uuid("uuid_max", largest)
                    $0.double("zero", -0.0)
                    $0.double("infinity", .infinity)
                })
            #expect(rows.rowCount == 1 && rows.columnCount == 16)
            let read = try rows.one { row throws(PostgresError) in
                (
                    int16: [try row.int16(), try row.int16()], int32: [try row.int32(), try row.int32()],
                    int64: [try row.int64(), try row.int64()], bool: [try row.bool(), try row.bool()],
                    text: [try row.text(), try row.text()], bytes: [try row.bytes(), try row.bytes()],
                    uuid: [try row.uuid(), try row.uuid()], double: [try row.text(), try row.text()]
                )
            }
            #expect(read.int16 == [.min, .max] && read.int32 == [.min, .max] && read.int64 == [.min, .max])
            #expect(read.bool == [true, false] && read.text == ["", text] && read.bytes == [[], everyByte])
            #expect(read.uuid == [smallest, largest] && read.double == ["-0", "Infinity"])
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
                query("SELECT i, i::text FROM unnest(:instants::timestamptz[]) WITH ORDINALITY AS t (i, n) ORDER BY n")
                {
                    $0.instantArray("instants", instants.map { WallInstant(microseconds: $0) })
                })
            let read = try rows.map { row throws(PostgresError) in (instant: try row.instant(), text: try row.text()) }
            #expect(read.map(\.instant.microseconds) == instants)
            #expect(read[0].text == "1970-01-01 00:00:00+00" && read[3].text == "2000-01-01 00:00:00+00")
            #expect(read[7].text == "infinity" && read[8].text == "-infinity")
        }
    }

    @Test("keep NULL in every type")
    func nulls() async throws {
        try await withPool { pool in
            let sql = """
                SELECT :int16::int2, :int32::int4, :int64::int8, :bool::bool, :text::text, :bytes::bytea, :uuid::uuid,
                    :instant::timestamptz, :json::jsonb
                """
            let rows = try await pool.run(
                query(sql) {
                    $0.int16("int16", nil)
                    $0.int32("int32", nil)
                    $0.int64("int64", nil)
                    $0.bool("bool", nil)
                    $0.text("text", nil)
                    $0.bytes("bytes", nil)
                    $0.uuid("uuid", nil)
                    $0.instant("instant", nil)
                    $0.json("json", nil)
                })
            let areNull = try rows.one { row throws(PostgresError) in
                [
                    try row.int16OrNil() == nil, try row.int32OrNil() == nil, try row.int64OrNil() == nil,
                    try row.boolOrNil() == nil, try row.textOrNil() == nil, try row.bytesOrNil() == nil,
                    try row.optional(UniversalID.init) == nil, try row.instantOrNil() == nil,
                    try row.optional { row throws(PostgresError) in try row.json() } == nil,
                ]
            }
            #expect(areNull == [Bool](repeating: true, count: 9))
        }
    }

    @Test("keep jsonb as its text")
    func json() async throws {
        try await withPool { pool in
            let rows = try await pool.run(
                query("SELECT :json::jsonb, :json::jsonb, :json::jsonb->>'a', :json::jsonb->>'a'") {
                    $0.json("json", Array(#"{"a": "ü"}"#.utf8))
                })
            var flat: [UInt8] = []
            let read = try rows.one { row throws(PostgresError) in
                let (json, jsonCount) = (try row.json(), try row.append(to: &flat))
                return (json: json, jsonCount: jsonCount, text: try row.text(), textCount: try row.append(to: &flat))
            }
            #expect(read.json == Array(#"{"a": "ü"}"#.utf8) && read.text == "ü")
            #expect(read.jsonCount == 11 && read.textCount == 2)
            #expect(flat == Array(#"{"a": "ü"}ü"#.utf8))
        }
    }

    @Test("keep NULL in arrays of texts, which other readers refuse")
    func arraysWithNulls() async throws {
        try await withPool { pool in
            for texts in [[], ["vier"], [nil], ["", nil, "vier", nil]] as [[String?]] {
                let rows = try await pool.run(query("SELECT :texts::text[]") { $0.textArray("texts", texts) })
                #expect(try rows.one { row throws(PostgresError) in try row.optionalTextArray() } == texts)
            }
            let rows = try await pool.run(query("SELECT ARRAY['vier', NULL]"))
            #expect(throws: PostgresError.self) {
                try rows.one { row throws(PostgresError) in try row.textArray() }
            }
        }
    }

    @Test("keep arrays that are unnested, with NULL elements")
    func unnest() async throws {
        try await withPool { pool in
            let sql = """
                SELECT * FROM unnest(:int64::int8[], :int32::int4[], :int16::int2[], :text::text[], :bytes::bytea[],
                    :instant::timestamptz[], :json::jsonb[])
                """
            let rows = try await pool.run(
                query(sql) {
                    $0.int64Array("int64", [1, nil])
                    $0.int32Array("int32", [nil, -2])
                    $0.int16Array("int16", [3, nil])
                    $0.textArray("text", ["vier", nil])
                    $0.bytesArray("bytes", [nil, [5]])
                    $0.instantArray("instant", [WallInstant(microseconds: 6), nil])
                    $0.jsonArray("json", [Array("10".utf8), nil])
                })
            let read = try rows.map { row throws(PostgresError) in
                (
                    int64: try row.int64OrNil(), int32: try row.int32OrNil(), int16: try row.int16OrNil(),
                    text: try row.textOrNil(), bytes: try row.bytesOrNil(), instant: try row.instantOrNil(),
                    json: try row.optional { row throws(PostgresError) in try row.json() }
                )
            }
            #expect(read.map(\.int64) == [1, nil] && read.map(\.int32) == [nil, -2] && read.map(\.int16) == [3, nil])
            #expect(read.map(\.text) == ["vier", nil] && read.map(\.bytes) == [nil, [5]])
            #expect(read.map(\.instant?.microseconds) == [6, nil] && read.map(\.json) == [Array("10".utf8), nil])
        }
    }

    @Test("keep arrays, also empty ones")
    func arrays() async throws {
        try await withPool { pool in
            let rows = try await pool.run(
                query(
                    """
                    SELECT :numbers::int8[], :texts::text[], :bytes::bytea[], :uuids::uuid[], '{}'::int4[],
                        '{3,-4}'::int2[]
                    """
                ) {
                    $0.array("numbers", .int64, count: 1_000) { $1.int64(Int64($0)) }
                    $0.textArray("texts", ["a", ""])
                    $0.bytesArray("bytes", [[], [0, 255]])
                    $0.uuidArray("uuids", [largest])
                })
            let read = try rows.one { row throws(PostgresError) in
                (
                    numbers: try row.int64Array(), texts: try row.textArray(), bytes: try row.bytesArray(),
                    uuids: try row.uuidArray(), none: try row.int32Array(), small: try row.int16Array()
                )
            }
            #expect(read.numbers == (0..<1_000).map { Int64($0) })
            #expect(read.texts == ["a", ""] && read.bytes == [[], [0, 255]])
            #expect(read.uuids == [largest] && read.none == [] && read.small == [3, -4])
        }
    }
}

@Suite("A query result of an unexpected shape")
struct ShapeTests {
    @Test("throws an error, and never traps", arguments: 0..<10)
    func unexpected(which: Int) async throws {
        try await withPool { pool in
            let statement = Statement(
                "shape", "SELECT 1::int4, NULL::int8, '{{1}}'::int8[], '{1,NULL}'::int8[], 'x'::text")
            let rows = try await pool.run(Query(statement))
            let column = [0, 1, 2, 3, 0, 0, 5, -1, 4, 1][which]
            let error = await failure { () throws(PostgresError) in
                var row = rows.row(which == 4 ? 1 : which == 5 ? -1 : 0)
                row.skip(column)
                switch which {
                case 0, 1: _ = try row.int64()
                case 2, 3: _ = try row.int64Array()
                case 4, 5: _ = try row.int32()
                case 6: _ = try row.text()
                case 7: _ = try row.bytes()
                case 8: _ = try row.json()
                // A reader that leaves columns unread.
                default: _ = try rows.one(Int32.init)
                }
            }
            #expect(error == .unexpectedShape(statement: "shape", column: column))
        }
    }

    @Test("throws an error if a prepared statement gets other parameter types")
    func parameterTypes() async throws {
        try await withPool { pool in
            let statement = Statement("two_faces", "SELECT :number")
            _ = try await pool.run(Query(statement) { $0.int64("number", 1) })
            let error = await failure { () async throws(PostgresError) in
                try await pool.run(Query(statement) { $0.int32("number", 1) })
            }
            #expect(error == .unexpectedShape(statement: "two_faces", column: -1))
            #expect(try await pool.run(Query(statement) { $0.int64("number", 2) }).one(Int64.init) == 2)
        }
    }
}
