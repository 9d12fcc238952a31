import Basis

// Copies of bytes, whole columns, and arrays.
extension ResultSet {
    /// Appends the bytes of a text, bytea or jsonb (without its version byte). Returns their number.
    @discardableResult
    package func append(_ row: Int, _ column: Int, to buffer: inout [UInt8]) throws(PostgresError) -> Int {
        let before = buffer.count
        if isJSONCell(column) {
            buffer.append(contentsOf: try json(row, column))
        } else {
            let cell = try anyCell(row, column)
            withExtendedLifetime(self) { cell.append(to: &buffer) }
        }
        return buffer.count - before
    }

    /// Lends the cell's bytes as the server sent them.
    package func withBytes<Answer>(
        _ row: Int, _ column: Int, _ body: (Span<UInt8>) -> Answer
    ) throws(PostgresError) -> Answer {
        let cell = try anyCell(row, column)
        return withExtendedLifetime(self) { cell.withSpan(body) }
    }

    package func int16Column(_ column: Int) throws(PostgresError) -> [Int16] { try whole(column, .int16) { $0.int16 } }
    package func int32Column(_ column: Int) throws(PostgresError) -> [Int32] { try whole(column, .int32) { $0.int32 } }
    package func int64Column(_ column: Int) throws(PostgresError) -> [Int64] { try whole(column, .int64) { $0.int64 } }
    package func uuidColumn(_ column: Int) throws(PostgresError) -> [UniversalID] {
        try whole(column, .uuid) { $0.uuid }
    }
    package func instantColumn(_ column: Int) throws(PostgresError) -> [WallInstant] {
        try whole(column, .instant) { $0.instant }
    }

    package func boolArray(_ row: Int, _ column: Int) throws(PostgresError) -> [Bool] {
        try array(row, column, .bool) { $0.bool }
    }
    package func int16Array(_ row: Int, _ column: Int) throws(PostgresError) -> [Int16] {
        try array(row, column, .int16) { $0.int16 }
    }
    package func int32Array(_ row: Int, _ column: Int) throws(PostgresError) -> [Int32] {
        try array(row, column, .int32) { $0.int32 }
    }
    package func int64Array(_ row: Int, _ column: Int) throws(PostgresError) -> [Int64] {
        try array(row, column, .int64) { $0.int64 }
    }
    package func textArray(_ row: Int, _ column: Int) throws(PostgresError) -> [String] {
        try array(row, column, .text) { $0.text }
    }
    package func uuidArray(_ row: Int, _ column: Int) throws(PostgresError) -> [UniversalID] {
        try array(row, column, .uuid) { $0.uuid }
    }
    package func instantArray(_ row: Int, _ column: Int) throws(PostgresError) -> [WallInstant] {
        try array(row, column, .instant) { $0.instant }
    }
    package func bytesArray(_ row: Int, _ column: Int) throws(PostgresError) -> [[UInt8]] {
        try array(row, column, .bytes) { $0.raw }
    }

    private func isJSONCell(_ column: Int) -> Bool { column >= 0 && column < columnCount && isJSON(column) }

    private func whole<Value>(
        _ column: Int, _ type: ElementType, _ decode: (BinaryCell) -> Value?
    ) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(rowCount)
        for row in 0..<rowCount {
            let cell = try cell(row, column, type)
            guard let value = withExtendedLifetime(self, { decode(cell) }) else { throw shape(column) }
            values.append(value)
        }
        return values
    }

    func array<Element>(
        _ row: Int, _ column: Int, _ type: ElementType, _ decode: (BinaryCell) -> Element?
    ) throws(PostgresError) -> [Element] {
        let cell = try arrayCell(row, column, type)
        guard let elements = withExtendedLifetime(self, { cell.elements(type, decode) }) else { throw shape(column) }
        return elements
    }
}
