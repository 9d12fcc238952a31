/// Rows for COPY ... FROM STDIN (FORMAT binary), in one flat buffer.
package struct CopyRows: Sendable {
    private let columns: Int16
    private var cells = CellWriter()
    package private(set) var rowCount = 0

    package init(columns: Int) {
        precondition(columns > 0 && columns <= CopyRows.columnsMax)
        self.columns = Int16(columns)
    }

    /// Writes exactly one cell per column, of the column's own type, because COPY sends no types.
    package mutating func row(_ write: (inout CellWriter) -> Void) {
        cells.head(columns)
        let before = cells.cellCount
        write(&cells)
        precondition(cells.cellCount == before + Int(columns), "exactly one cell per column")
        rowCount += 1
    }

    /// Whether the rows suffice for one write. More would only take memory.
    package var isFull: Bool { cells.buffer.count >= CopyRows.bytesAimed }

    /// Empties the buffer for the next rows, and keeps the memory.
    package mutating func removeAll() {
        cells.restart()
        rowCount = 0
    }

    var buffer: [UInt8] { cells.buffer }

    static let bytesAimed = 262_144
    /// PostgreSQL's own limit.
    private static let columnsMax = 1_600
}

/// The header and trailer around COPY's binary rows.
///
/// Source: PostgreSQL 15, COPY, "Binary Format".
enum CopyFrame {
    /// Signature, flags, and the length 0 of the header extension.
    static let header: [UInt8] = Array("PGCOPY\n".utf8) + [0xff, 0x0d, 0x0a, 0] + [UInt8](repeating: 0, count: 8)
    static let signatureBytes = 11
    /// A column count of -1.
    static let trailer: [UInt8] = [0xff, 0xff]
}
