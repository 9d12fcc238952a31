import Basis

// One reader per type, and one more for columns that may be null.
extension ResultSet {
    package func bool(_ row: Int, _ column: Int) throws(PostgresError) -> Bool {
        try read(row, column, .bool) { $0.bool }
    }

    package func int16(_ row: Int, _ column: Int) throws(PostgresError) -> Int16 {
        try read(row, column, .int16) { $0.int16 }
    }

    package func int32(_ row: Int, _ column: Int) throws(PostgresError) -> Int32 {
        try read(row, column, .int32) { $0.int32 }
    }

    package func int64(_ row: Int, _ column: Int) throws(PostgresError) -> Int64 {
        try read(row, column, .int64) { $0.int64 }
    }

    package func double(_ row: Int, _ column: Int) throws(PostgresError) -> Double {
        try read(row, column, .double) { $0.double }
    }

    package func instant(_ row: Int, _ column: Int) throws(PostgresError) -> WallInstant {
        try read(row, column, .instant) { $0.instant }
    }

    package func uuid(_ row: Int, _ column: Int) throws(PostgresError) -> UniversalID {
        try read(row, column, .uuid) { $0.uuid }
    }

    package func text(_ row: Int, _ column: Int) throws(PostgresError) -> String {
        try read(row, column, .text) { $0.text }
    }

    package func bytes(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8] {
        try read(row, column, .bytes) { $0.raw }
    }

    /// The UTF-8 of a text, without creating a String.
    package func textBytes(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8] {
        try read(row, column, .text) { $0.raw }
    }

    /// The UTF-8 of a jsonb.
    package func json(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8] {
        try read(row, column, .json) { $0.json }
    }

    /// Reads borrowed bytes while `self` stays alive. This is the only place that does.
    @inline(__always)
    func read<Value>(
        _ row: Int, _ column: Int, _ type: ElementType, _ decode: (BinaryCell) -> Value?
    ) throws(PostgresError) -> Value {
        let cell = try cell(row, column, type)
        guard let value = withExtendedLifetime(self, { decode(cell) }) else { throw shape(column) }
        return value
    }
}

extension ResultSet {
    package func boolOrNil(_ row: Int, _ column: Int) throws(PostgresError) -> Bool? {
        try isNullInside(row, column) ? nil : bool(row, column)
    }

    package func int16OrNil(_ row: Int, _ column: Int) throws(PostgresError) -> Int16? {
        try isNullInside(row, column) ? nil : int16(row, column)
    }

    package func int32OrNil(_ row: Int, _ column: Int) throws(PostgresError) -> Int32? {
        try isNullInside(row, column) ? nil : int32(row, column)
    }

    package func int64OrNil(_ row: Int, _ column: Int) throws(PostgresError) -> Int64? {
        try isNullInside(row, column) ? nil : int64(row, column)
    }

    package func doubleOrNil(_ row: Int, _ column: Int) throws(PostgresError) -> Double? {
        try isNullInside(row, column) ? nil : double(row, column)
    }

    package func instantOrNil(_ row: Int, _ column: Int) throws(PostgresError) -> WallInstant? {
        try isNullInside(row, column) ? nil : instant(row, column)
    }

    package func uuidOrNil(_ row: Int, _ column: Int) throws(PostgresError) -> UniversalID? {
        try isNullInside(row, column) ? nil : uuid(row, column)
    }

    package func textOrNil(_ row: Int, _ column: Int) throws(PostgresError) -> String? {
        try isNullInside(row, column) ? nil : text(row, column)
    }

    package func bytesOrNil(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8]? {
        try isNullInside(row, column) ? nil : bytes(row, column)
    }

    package func textBytesOrNil(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8]? {
        try isNullInside(row, column) ? nil : textBytes(row, column)
    }

    package func jsonOrNil(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8]? {
        try isNullInside(row, column) ? nil : json(row, column)
    }

    /// False for a cell out of range, so that the reader throws.
    private func isNullInside(_ row: Int, _ column: Int) -> Bool { holds(row, column) && isNull(row, column) }
}
