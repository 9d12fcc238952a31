import Basis

/// The values of $1, $2, ... in the order of the calls: one flat buffer and their types.
///
/// The types are sent when the statement is prepared. So the server refuses a mismatch instead of misreading a value.
package struct Parameters: Sendable {
    private(set) var types: [UInt32] = []
    /// The offset of each value's cell in the buffer.
    private(set) var starts: [Int] = []
    private var cells = CellWriter()

    package init() {}

    package var count: Int { types.count }
    var buffer: [UInt8] { cells.buffer }

    package mutating func bool(_ value: Bool?) {
        begin(.bool)
        if let value { cells.bool(value) } else { cells.null() }
    }

    package mutating func int16(_ value: Int16?) {
        begin(.int16)
        if let value { cells.int16(value) } else { cells.null() }
    }

    package mutating func int32(_ value: Int32?) {
        begin(.int32)
        if let value { cells.int32(value) } else { cells.null() }
    }

    package mutating func int64(_ value: Int64?) {
        begin(.int64)
        if let value { cells.int64(value) } else { cells.null() }
    }

    package mutating func double(_ value: Double?) {
        begin(.double)
        if let value { cells.double(value) } else { cells.null() }
    }

    package mutating func instant(_ value: WallInstant?) {
        begin(.instant)
        if let value { cells.instant(value) } else { cells.null() }
    }

    package mutating func uuid(_ value: UniversalID?) {
        begin(.uuid)
        if let value { cells.uuid(value) } else { cells.null() }
    }

    package mutating func bytes(_ value: [UInt8]?) {
        begin(.bytes)
        if let value { cells.bytes(value) } else { cells.null() }
    }

    package mutating func text(_ value: String?) {
        begin(.text)
        if let value { cells.text(value) } else { cells.null() }
    }

    package mutating func textBytes(_ utf8: [UInt8]?) {
        begin(.text)
        if let utf8 { cells.textBytes(utf8) } else { cells.null() }
    }

    package mutating func json(_ utf8: [UInt8]?) {
        begin(.json)
        if let utf8 { cells.json(utf8) } else { cells.null() }
    }

    /// Adds an array of one dimension. `write` must write exactly one cell per index.
    package mutating func array(
        _ type: ElementType, count: Int, _ write: (_ index: Int, _ cell: inout CellWriter) -> Void
    ) {
        types.append(type.arrayObjectID)
        starts.append(cells.buffer.count)
        cells.array(type, count: count, write)
    }

    private mutating func begin(_ type: ElementType) {
        types.append(type.objectID)
        starts.append(cells.buffer.count)
    }
}

// Arrays from Swift arrays. The overloads with optional elements write nulls.
extension Parameters {
    package mutating func boolArray(_ values: [Bool]) { array(.bool, count: values.count) { $1.bool(values[$0]) } }
    package mutating func int16Array(_ values: [Int16]) { array(.int16, count: values.count) { $1.int16(values[$0]) } }
    package mutating func int32Array(_ values: [Int32]) { array(.int32, count: values.count) { $1.int32(values[$0]) } }
    package mutating func int64Array(_ values: [Int64]) { array(.int64, count: values.count) { $1.int64(values[$0]) } }
    package mutating func doubleArray(_ values: [Double]) {
        array(.double, count: values.count) { $1.double(values[$0]) }
    }
    package mutating func instantArray(_ values: [WallInstant]) {
        array(.instant, count: values.count) { $1.instant(values[$0]) }
    }
    package mutating func uuidArray(_ values: [UniversalID]) {
        array(.uuid, count: values.count) { $1.uuid(values[$0]) }
    }
    package mutating func bytesArray(_ values: [[UInt8]]) {
        array(.bytes, count: values.count) { $1.bytes(values[$0]) }
    }
    package mutating func textArray(_ values: [String]) { array(.text, count: values.count) { $1.text(values[$0]) } }
    package mutating func textBytesArray(_ values: [[UInt8]]) {
        array(.text, count: values.count) { $1.textBytes(values[$0]) }
    }
    package mutating func jsonArray(_ values: [[UInt8]]) { array(.json, count: values.count) { $1.json(values[$0]) } }

    package mutating func boolArray(_ values: [Bool?]) {
        optionals(.bool, values) { $1.bool($0) }
    }
    package mutating func int16Array(_ values: [Int16?]) {
        optionals(.int16, values) { $1.int16($0) }
    }
    package mutating func int32Array(_ values: [Int32?]) {
        optionals(.int32, values) { $1.int32($0) }
    }
    package mutating func int64Array(_ values: [Int64?]) {
        optionals(.int64, values) { $1.int64($0) }
    }
    package mutating func doubleArray(_ values: [Double?]) {
        optionals(.double, values) { $1.double($0) }
    }
    package mutating func instantArray(_ values: [WallInstant?]) {
        optionals(.instant, values) { $1.instant($0) }
    }
    package mutating func uuidArray(_ values: [UniversalID?]) {
        optionals(.uuid, values) { $1.uuid($0) }
    }
    package mutating func bytesArray(_ values: [[UInt8]?]) {
        optionals(.bytes, values) { $1.bytes($0) }
    }
    package mutating func textArray(_ values: [String?]) {
        optionals(.text, values) { $1.text($0) }
    }
    package mutating func textBytesArray(_ values: [[UInt8]?]) {
        optionals(.text, values) { $1.textBytes($0) }
    }
    package mutating func jsonArray(_ values: [[UInt8]?]) {
        optionals(.json, values) { $1.json($0) }
    }

    private mutating func optionals<Value>(
        _ type: ElementType, _ values: [Value?], _ write: (Value, inout CellWriter) -> Void
    ) {
        array(type, count: values.count) { index, cell in
            if let value = values[index] { write(value, &cell) } else { cell.null() }
        }
    }
}
