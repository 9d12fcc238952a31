import Basis

/// One row of a result, read column by column in the order of the statement's list.
///
/// A type that a row stands for has an initializer `init(_ row: inout Row)`. Readers throw `unexpectedShape` for another
/// type, a null, malformed bytes, or a column behind the last one.
package struct Row: Sendable {
    private let rows: ResultSet
    private var index: Int
    private var column = 0

    init(_ rows: ResultSet, _ index: Int) { (self.rows, self.index) = (rows, index) }

    package mutating func bool() throws(PostgresError) -> Bool { try next(.bool) { $0.bool } }
    package mutating func int16() throws(PostgresError) -> Int16 { try next(.int16) { $0.int16 } }
    package mutating func int32() throws(PostgresError) -> Int32 { try next(.int32) { $0.int32 } }
    package mutating func int64() throws(PostgresError) -> Int64 { try next(.int64) { $0.int64 } }
    package mutating func instant() throws(PostgresError) -> WallInstant { try next(.instant) { $0.instant } }
    package mutating func uuid() throws(PostgresError) -> UniversalID { try next(.uuid) { $0.uuid } }
    package mutating func text() throws(PostgresError) -> String { try next(.text) { $0.text } }
    package mutating func bytes() throws(PostgresError) -> [UInt8] { try next(.bytes) { $0.raw } }
    /// The UTF-8 of a text, without creating a String.
    package mutating func textBytes() throws(PostgresError) -> [UInt8] { try next(.text) { $0.raw } }
    package mutating func json() throws(PostgresError) -> [UInt8] { try next(.json) { $0.json } }

    package mutating func boolArray() throws(PostgresError) -> [Bool] { try array(.bool) { $0.bool } }
    package mutating func int16Array() throws(PostgresError) -> [Int16] { try array(.int16) { $0.int16 } }
    package mutating func int32Array() throws(PostgresError) -> [Int32] { try array(.int32) { $0.int32 } }
    package mutating func int64Array() throws(PostgresError) -> [Int64] { try array(.int64) { $0.int64 } }
    package mutating func textArray() throws(PostgresError) -> [String] { try array(.text) { $0.text } }
    package mutating func uuidArray() throws(PostgresError) -> [UniversalID] { try array(.uuid) { $0.uuid } }
    package mutating func instantArray() throws(PostgresError) -> [WallInstant] { try array(.instant) { $0.instant } }
    package mutating func bytesArray() throws(PostgresError) -> [[UInt8]] { try array(.bytes) { $0.raw } }

    /// Texts in an array that may hold nulls, which are nil.
    package mutating func optionalTextArray() throws(PostgresError) -> [String?] {
        defer { column += 1 }
        return try rows.optionalTexts(index, column)
    }

    /// The case that a stored number stands for. An unknown number throws `unexpectedShape`.
    package mutating func stored<Case: RawRepresentable>() throws(PostgresError) -> Case where Case.RawValue == Int16 {
        try next(.int16) { cell in cell.int16.flatMap { Case(rawValue: $0) } }
    }

    /// Reads the place in an array parameter, which counts from 1 by `WITH ORDINALITY`; returns it from 0.
    /// - Parameter count: the length of the array. A place behind it throws `unexpectedShape`.
    package mutating func place(upTo count: Int) throws(PostgresError) -> Int {
        try next(.int64) { cell in cell.int64.flatMap { $0 >= 1 && $0 <= count ? Int($0) - 1 : nil } }
    }

    package mutating func boolOrNil() throws(PostgresError) -> Bool? { try nextOrNil(.bool) { $0.bool } }
    package mutating func int16OrNil() throws(PostgresError) -> Int16? { try nextOrNil(.int16) { $0.int16 } }
    package mutating func int32OrNil() throws(PostgresError) -> Int32? { try nextOrNil(.int32) { $0.int32 } }
    package mutating func int64OrNil() throws(PostgresError) -> Int64? { try nextOrNil(.int64) { $0.int64 } }
    package mutating func instantOrNil() throws(PostgresError) -> WallInstant? {
        try nextOrNil(.instant) { $0.instant }
    }
    package mutating func textOrNil() throws(PostgresError) -> String? { try nextOrNil(.text) { $0.text } }
    package mutating func bytesOrNil() throws(PostgresError) -> [UInt8]? { try nextOrNil(.bytes) { $0.raw } }
    package mutating func textBytesOrNil() throws(PostgresError) -> [UInt8]? { try nextOrNil(.text) { $0.raw } }

    /// Returns nil for a null, and otherwise what `read` reads: `try row.optional(LocalHour.init)`.
    package mutating func optional<Value>(
        _ read: (inout Row) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value? {
        if isNull {
            column += 1
            return nil
        }
        return try read(&self)
    }

    /// Whether the next column is null. False behind the last column, so that a reader throws.
    package var isNull: Bool { rows.holds(index, column) && rows.isNull(index, column) }

    package mutating func skip(_ columns: Int = 1) { column += columns }

    /// Goes to the start of another row. It costs less than a new `Row`, which would retain the result.
    package mutating func move(to index: Int) { (self.index, column) = (index, 0) }

    /// Appends the bytes of a text, bytea or jsonb (without its version byte). Returns their number.
    @discardableResult
    package mutating func append(to buffer: inout [UInt8]) throws(PostgresError) -> Int {
        defer { column += 1 }
        return try rows.append(index, column, to: &buffer)
    }

    /// Throws if columns are left: the list and the reader have drifted apart.
    func end() throws(PostgresError) {
        if column != rows.columnCount { throw rows.shape(column) }
    }

    @inline(__always)
    private mutating func next<Value>(
        _ type: ElementType, _ decode: (BinaryCell) -> Value?
    ) throws(PostgresError) -> Value {
        defer { column += 1 }
        return try rows.read(index, column, type, decode)
    }

    @inline(__always)
    private mutating func nextOrNil<Value>(
        _ type: ElementType, _ decode: (BinaryCell) -> Value?
    ) throws(PostgresError) -> Value? {
        guard isNull else { return try next(type, decode) }
        column += 1
        return nil
    }

    private mutating func array<Element>(
        _ type: ElementType, _ decode: (BinaryCell) -> Element?
    ) throws(PostgresError) -> [Element] {
        defer { column += 1 }
        return try rows.array(index, column, type, decode)
    }
}

extension ResultSet {
    package func row(_ index: Int) -> Row { Row(self, index) }

    /// Reads all rows: `try rows.map(AppRecord.init)`.
    package func map<Value>(_ read: (inout Row) throws(PostgresError) -> Value) throws(PostgresError) -> [Value] {
        var values: [Value] = []
        values.reserveCapacity(rowCount)
        for index in 0..<rowCount { values.append(try one(index, read)) }
        return values
    }

    package func first<Value>(_ read: (inout Row) throws(PostgresError) -> Value) throws(PostgresError) -> Value? {
        rowCount == 0 ? nil : try one(0, read)
    }

    package func one<Value>(_ read: (inout Row) throws(PostgresError) -> Value) throws(PostgresError) -> Value {
        try one(0, read)
    }

    /// Reads rows of one column: places in an array parameter, each from 0.
    package func places(upTo count: Int) throws(PostgresError) -> [Int] {
        try map { row throws(PostgresError) in try row.place(upTo: count) }
    }

    private func one<Value>(
        _ index: Int, _ read: (inout Row) throws(PostgresError) -> Value
    ) throws(PostgresError) -> Value {
        var row = Row(self, index)
        let value = try read(&row)
        try row.end()
        return value
    }
}

// Rows of one column: `try rows.map(Int64.init)`.
extension Bool { package init(_ row: inout Row) throws(PostgresError) { self = try row.bool() } }
extension Int16 { package init(_ row: inout Row) throws(PostgresError) { self = try row.int16() } }
extension Int32 { package init(_ row: inout Row) throws(PostgresError) { self = try row.int32() } }
extension Int64 { package init(_ row: inout Row) throws(PostgresError) { self = try row.int64() } }
extension String { package init(_ row: inout Row) throws(PostgresError) { self = try row.text() } }
extension UniversalID { package init(_ row: inout Row) throws(PostgresError) { self = try row.uuid() } }
extension WallInstant { package init(_ row: inout Row) throws(PostgresError) { self = try row.instant() } }

/// A number that PostgreSQL stores for a Swift enum's case, for interpolation into SQL.
extension RawRepresentable where RawValue: FixedWidthInteger {
    /// The stored number, as in `state = \(ParcelState.leased.sql)`.
    package var sql: String { String(rawValue) }
}

extension Sequence where Element: RawRepresentable, Element.RawValue: FixedWidthInteger {
    /// The stored numbers, as in `state IN (\([ParcelState.ready, .rateLimited].sql))`.
    package var sql: String { map(\.sql).joined(separator: ", ") }
}
