import Postgres
import Testing

/// SplitMix64, so that a failing seed can be repeated.
private struct Dice {
    var state: UInt64
    mutating func roll(_ sides: Int) -> Int {
        state &+= 0x9e37_79b9_7f4a_7c15
        var mixed = (state ^ (state >> 30)) &* 0xbf58_476d_1ce4_e5b9
        mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
        return Int((mixed ^ (mixed >> 31)) % UInt64(sides))
    }
}

/// Two rows: (int8 7, text "ab"), (null, text "").
private let sound: [UInt8] = [
    0, 2, 0, 0, 0, 8, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 2, 0x61, 0x62,
    0, 2, 255, 255, 255, 255, 0, 0, 0, 0,
]

@Suite("Binary rows read from COPY")
struct CopiedRowsTests {
    @Test("decode by the lengths given in the bytes, with or without the trailer", arguments: [true, false])
    func reads(hasTrailer: Bool) throws {
        let rows = try CopiedRows(parsing: sound + (hasTrailer ? [255, 255] : []))
        #expect(rows.rowCount == 2 && rows.columnCount == 2)
        #expect(try rows.int64(0, 0) == 7 && rows.text(0, 1) == "ab" && rows.text(1, 1) == "")
        #expect(rows.isNull(1, 0) && !rows.isNull(1, 1) && rows.isNull(2, 0))
        #expect(throws: PostgresError.unexpectedShape(statement: "COPY", column: 0)) { try rows.int64(1, 0) }
        #expect(throws: PostgresError.unexpectedShape(statement: "COPY", column: 1)) { try rows.int32(0, 1) }
    }

    @Test("decode or fail for any bytes, and never trap", arguments: 0..<8)
    func garbage(seed: Int) {
        var dice = Dice(state: UInt64(seed))
        for _ in 0..<4_000 {
            var bytes = sound
            for _ in 0...dice.roll(4) { bytes[dice.roll(bytes.count)] = UInt8(dice.roll(256)) }
            bytes.removeLast(dice.roll(bytes.count + 1))
            guard let rows = try? CopiedRows(parsing: bytes) else { continue }
            for row in -1...rows.rowCount {
                for column in -1...rows.columnCount {
                    _ = try? rows.bool(row, column)
                    _ = try? rows.int64(row, column)
                    _ = try? rows.text(row, column)
                    _ = try? rows.uuid(row, column)
                    _ = try? rows.json(row, column)
                    _ = try? rows.instant(row, column)
                }
            }
        }
    }
}
