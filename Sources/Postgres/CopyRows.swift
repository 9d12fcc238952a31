/// Rows for COPY ... FROM STDIN (FORMAT binary), in one flat buffer.
package struct CopyRows: Sendable {
    private let columns: Int16
    private var cells = CellWriter()
    package private(set) var rowCount = 0

    package init(columns: Int) {
        precondition(columns > 0 && columns <= CopyRows.columnsMax)
        self.columns = Int16(columns)
    }

    /// Exactly one cell per column, of the column's own type: COPY is not told types.
    package mutating func row(_ write: (inout CellWriter) -> Void) {
        cells.head(columns)
        let before = cells.cellCount
        write(&cells)
        precondition(cells.cellCount == before + Int(columns), "exactly one cell per column")
        rowCount += 1
    }

    /// Enough for one write: more would only lie in memory.
    package var isFull: Bool { cells.buffer.count >= CopyRows.bytesAimed }

    /// For the next rows; keeps the memory.
    package mutating func removeAll() {
        cells.restart()
        rowCount = 0
    }

    var buffer: [UInt8] { cells.buffer }

    static let bytesAimed = 262_144
    /// PostgreSQL's own limit.
    private static let columnsMax = 1_600
}

/// The frame around COPY's binary rows.
///
/// Source: PostgreSQL 15, COPY, "Binary Format".
enum CopyFrame {
    /// Signature, flags, and the length of a header extension: none.
    static let header: [UInt8] = Array("PGCOPY\n".utf8) + [0xff, 0x0d, 0x0a, 0] + [UInt8](repeating: 0, count: 8)
    static let signatureBytes = 11
    /// A column count of -1.
    static let trailer: [UInt8] = [0xff, 0xff]
}
