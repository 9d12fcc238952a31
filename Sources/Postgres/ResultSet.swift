import CPostgres

/// The result of one statement, in binary format. Readers throw `unexpectedShape` for another type, a null, an index
/// out of range, or malformed bytes. No database content can cause a trap.
@safe package final class ResultSet: @unchecked Sendable {
    // Proof for `@unchecked Sendable`: the PGresult is never written after libpq handed it over. libpq's accessors only
    // read it, and `deinit` frees it once.
    private let result: OpaquePointer
    private let statement: String
    private let columnTypes: [UInt32]
    package let rowCount: Int

    init(adopting result: OpaquePointer, statement: String) {
        unsafe self.result = unsafe result
        self.statement = statement
        rowCount = unsafe Int(PQntuples(result))
        // Columns in text format get no type, because readers would misread them.
        columnTypes = unsafe (0..<PQnfields(result)).map { unsafe PQfformat(result, $0) == 1 ? PQftype(result, $0) : 0 }
    }

    deinit { unsafe PQclear(result) }

    package var columnCount: Int { columnTypes.count }

    /// The number of rows that an INSERT, UPDATE, DELETE, MERGE or SELECT affected.
    package var affectedRows: Int { unsafe Int(String(cString: PQcmdTuples(result))) ?? 0 }

    /// Whether the cell is null. True for a cell out of range, too.
    func isNull(_ row: Int, _ column: Int) -> Bool {
        guard holds(row, column) else { return true }
        return unsafe PQgetisnull(result, Int32(row), Int32(column)) == 1
    }

    func holds(_ row: Int, _ column: Int) -> Bool {
        row >= 0 && row < rowCount && column >= 0 && column < columnTypes.count
    }

    /// - Parameter fits: whether a column of this type can be read; 0 stands for a column in text format.
    @inline(__always)
    func cell(_ row: Int, _ column: Int, _ fits: (UInt32) -> Bool) throws(PostgresError) -> BinaryCell {
        guard holds(row, column), fits(columnTypes[column]), let cell = borrow(row, column) else { throw shape(column) }
        return cell
    }

    func shape(_ column: Int) -> PostgresError { .unexpectedShape(statement: statement, column: column) }

    func isJSON(_ column: Int) -> Bool {
        columnTypes.indices.contains(column) && columnTypes[column] == ElementType.json.objectID
    }

    /// Returns nil for null. Every reader holds `self`, so the cell is read before this object can be freed.
    private func borrow(_ row: Int, _ column: Int) -> BinaryCell? {
        let (row, column) = (Int32(truncatingIfNeeded: row), Int32(truncatingIfNeeded: column))
        let count = unsafe Int(PQgetlength(result, row, column))
        // A null has length 0, so only empty cells cost the second call.
        if unsafe count == 0 && PQgetisnull(result, row, column) == 1 { return nil }
        guard let start = unsafe PQgetvalue(result, row, column) else { return nil }
        return unsafe BinaryCell(UnsafeRawBufferPointer(start: start, count: count))
    }
}
