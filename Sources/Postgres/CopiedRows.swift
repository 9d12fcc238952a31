import Basis

/// Some rows of COPY ... TO STDOUT (FORMAT binary). COPY does not send types. A reader checks that the bytes can have
/// the requested type, and throws `unexpectedShape` if not.
package struct CopiedRows: Sendable {
    private let bytes: [UInt8]
    /// The offset of each cell's length, `columnCount` per row.
    private let cells: [Int]
    package let rowCount: Int
    package let columnCount: Int

    /// Parses the bytes of whole rows without the header. Throws if they are malformed.
    package init(parsing bytes: [UInt8]) throws(PostgresError) {
        var cells: [Int] = []
        var offset = 0
        var columns: Int?
        var rows = 0
        while offset < bytes.count {
            guard let count = Self.int16(bytes, offset) else { throw Self.malformed }
            if count == -1 && offset + 2 == bytes.count { break }
            guard count >= 0, columns == nil || columns == count else {
                throw Self.malformed
            }
            columns = count
            offset += 2
            for _ in 0..<count {
                guard let length = Self.int32(bytes, offset), length >= -1 else { throw Self.malformed }
                cells.append(offset)
                offset += 4 + max(0, length)
            }
            guard offset <= bytes.count else { throw Self.malformed }
            rows += 1
        }
        self.bytes = bytes
        self.cells = cells
        rowCount = rows
        columnCount = columns ?? 0
    }

    package func isNull(_ row: Int, _ column: Int) -> Bool {
        guard let start = start(row, column) else { return true }
        return Self.int32(bytes, start) == -1
    }

    package func bool(_ row: Int, _ column: Int) throws(PostgresError) -> Bool { try read(row, column) { $0.bool } }
    package func int16(_ row: Int, _ column: Int) throws(PostgresError) -> Int16 { try read(row, column) { $0.int16 } }
    package func int32(_ row: Int, _ column: Int) throws(PostgresError) -> Int32 { try read(row, column) { $0.int32 } }
    package func int64(_ row: Int, _ column: Int) throws(PostgresError) -> Int64 { try read(row, column) { $0.int64 } }
    package func double(_ row: Int, _ column: Int) throws(PostgresError) -> Double {
        try read(row, column) { $0.double }
    }
    package func instant(_ row: Int, _ column: Int) throws(PostgresError) -> WallInstant {
        try read(row, column) { $0.instant }
    }
    package func uuid(_ row: Int, _ column: Int) throws(PostgresError) -> UniversalID {
        try read(row, column) { $0.uuid }
    }
    package func text(_ row: Int, _ column: Int) throws(PostgresError) -> String { try read(row, column) { $0.text } }
    package func bytes(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8] { try read(row, column) { $0.raw } }
    package func json(_ row: Int, _ column: Int) throws(PostgresError) -> [UInt8] { try read(row, column) { $0.json } }

    private func read<Value>(
        _ row: Int, _ column: Int, _ decode: (BinaryCell) -> Value?
    ) throws(PostgresError) -> Value {
        guard let start = start(row, column), let length = Self.int32(bytes, start), length >= 0 else {
            throw .unexpectedShape(statement: "COPY", column: column)
        }
        let value = unsafe bytes.withUnsafeBytes { bytes in
            unsafe decode(BinaryCell(UnsafeRawBufferPointer(rebasing: bytes[(start + 4)..<(start + 4 + length)])))
        }
        guard let value else { throw .unexpectedShape(statement: "COPY", column: column) }
        return value
    }

    private func start(_ row: Int, _ column: Int) -> Int? {
        guard row >= 0, row < rowCount, column >= 0, column < columnCount else { return nil }
        return cells[row * columnCount + column]
    }

    private static let malformed = PostgresError.unexpectedShape(statement: "COPY", column: -1)

    private static func int16(_ bytes: [UInt8], _ offset: Int) -> Int? {
        guard bytes.count - offset >= 2 else { return nil }
        return Int(Int16(bitPattern: UInt16(bytes[offset]) << 8 | UInt16(bytes[offset + 1])))
    }

    private static func int32(_ bytes: [UInt8], _ offset: Int) -> Int? {
        guard bytes.count - offset >= 4 else { return nil }
        let value = (0..<4).reduce(UInt32(0)) { $0 << 8 | UInt32(bytes[offset + $1]) }
        return Int(Int32(bitPattern: value))
    }
}
