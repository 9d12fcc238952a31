import Basis

/// The values of a statement's parameters by name, in any order: one flat buffer and their types.
///
/// The types are sent when the statement is prepared. So the server refuses a mismatch instead of misreading a value.
package struct Parameters: Sendable {
    private(set) var names: [String] = []
    private(set) var types: [UInt32] = []
    private(set) var starts: [Int] = []
    private var cells = CellWriter()

    package init() {}

    package var count: Int { types.count }
    var buffer: [UInt8] { cells.buffer }

    package mutating func bool(_ name: String, _ value: Bool?) {
        begin(name, .bool)
        if let value { cells.bool(value) } else { cells.null() }
    }

    package mutating func int16(_ name: String, _ value: Int16?) {
        begin(name, .int16)
        if let value { cells.int16(value) } else { cells.null() }
    }

    package mutating func int32(_ name: String, _ value: Int32?) {
        begin(name, .int32)
        if let value { cells.int32(value) } else { cells.null() }
    }

    package mutating func int64(_ name: String, _ value: Int64?) {
        begin(name, .int64)
        if let value { cells.int64(value) } else { cells.null() }
    }

    package mutating func double(_ name: String, _ value: Double?) {
        begin(name, .double)
        if let value { cells.double(value) } else { cells.null() }
    }

    package mutating func instant(_ name: String, _ value: WallInstant?) {
        begin(name, .instant)
        if let value { cells.instant(value) } else { cells.null() }
    }

    package mutating func uuid(_ name: String, _ value: UniversalID?) {
        begin(name, .uuid)
        if let value { cells.uuid(value) } else { cells.null() }
    }

    package mutating func bytes(_ name: String, _ value: [UInt8]?) {
        begin(name, .bytes)
        if let value { cells.bytes(value) } else { cells.null() }
    }

    package mutating func text(_ name: String, _ value: String?) {
        begin(name, .text)
        if let value { cells.text(value) } else { cells.null() }
    }

    package mutating func textBytes(_ name: String, _ utf8: [UInt8]?) {
        begin(name, .text)
        if let utf8 { cells.textBytes(utf8) } else { cells.null() }
    }

    package mutating func json(_ name: String, _ utf8: [UInt8]?) {
        begin(name, .json)
        if let utf8 { cells.json(utf8) } else { cells.null() }
    }

    /// Adds an array of one dimension. `write` must write exactly one cell per index.
    package mutating func array(
        _ name: String, _ type: ElementType, count: Int, _ write: (_ index: Int, _ cell: inout CellWriter) -> Void
    ) {
        names.append(name)
        types.append(type.arrayObjectID)
        starts.append(cells.buffer.count)
        cells.array(type, count: count, write)
    }

    /// Returns the parameters in the order of the statement's. Each of its parameters must have one value.
    func ordered(for statement: Statement) -> Parameters {
        let wanted = statement.parameterNames
        if names == wanted { return self }
        precondition(names.count == wanted.count, "\(statement.name) takes \(wanted), not \(names)")
        var ordered = self
        for (place, name) in wanted.enumerated() {
            guard let index = names.firstIndex(of: name) else {
                preconditionFailure("\(statement.name) has no value for :\(name)")
            }
            (ordered.names[place], ordered.types[place], ordered.starts[place]) = (name, types[index], starts[index])
        }
        return ordered
    }

    private mutating func begin(_ name: String, _ type: ElementType) {
        names.append(name)
        types.append(type.objectID)
        starts.append(cells.buffer.count)
    }
}

// Arrays from Swift arrays. The overloads with optional elements write nulls.
extension Parameters {
    package mutating func boolArray(_ name: String, _ values: [Bool]) {
        array(name, .bool, count: values.count) { $1.bool(values[$0]) }
    }
    package mutating func int16Array(_ name: String, _ values: [Int16]) {
        array(name, .int16, count: values.count) { $1.int16(values[$0]) }
    }
    package mutating func int32Array(_ name: String, _ values: [Int32]) {
        array(name, .int32, count: values.count) { $1.int32(values[$0]) }
    }
    package mutating func int64Array(_ name: String, _ values: [Int64]) {
        array(name, .int64, count: values.count) { $1.int64(values[$0]) }
    }
    package mutating func doubleArray(_ name: String, _ values: [Double]) {
        array(name, .double, count: values.count) { $1.double(values[$0]) }
    }
    package mutating func instantArray(_ name: String, _ values: [WallInstant]) {
        array(name, .instant, count: values.count) { $1.instant(values[$0]) }
    }
    package mutating func uuidArray(_ name: String, _ values: [UniversalID]) {
        array(name, .uuid, count: values.count) { $1.uuid(values[$0]) }
    }
    package mutating func bytesArray(_ name: String, _ values: [[UInt8]]) {
        array(name, .bytes, count: values.count) { $1.bytes(values[$0]) }
    }
    package mutating func textArray(_ name: String, _ values: [String]) {
        array(name, .text, count: values.count) { $1.text(values[$0]) }
    }
    package mutating func textBytesArray(_ name: String, _ values: [[UInt8]]) {
        array(name, .text, count: values.count) { $1.textBytes(values[$0]) }
    }
    package mutating func jsonArray(_ name: String, _ values: [[UInt8]]) {
        array(name, .json, count: values.count) { $1.json(values[$0]) }
    }

    package mutating func boolArray(_ name: String, _ values: [Bool?]) {
        optionals(name, .bool, values) { $1.bool($0) }
    }
    package mutating func int16Array(_ name: String, _ values: [Int16?]) {
        optionals(name, .int16, values) { $1.int16($0) }
    }
    package mutating func int32Array(_ name: String, _ values: [Int32?]) {
        optionals(name, .int32, values) { $1.int32($0) }
    }
    package mutating func int64Array(_ name: String, _ values: [Int64?]) {
        optionals(name, .int64, values) { $1.int64($0) }
    }
    package mutating func doubleArray(_ name: String, _ values: [Double?]) {
        optionals(name, .double, values) { $1.double($0) }
    }
    package mutating func instantArray(_ name: String, _ values: [WallInstant?]) {
        optionals(name, .instant, values) { $1.instant($0) }
    }
    package mutating func uuidArray(_ name: String, _ values: [UniversalID?]) {
        optionals(name, .uuid, values) { $1.uuid($0) }
    }
    package mutating func bytesArray(_ name: String, _ values: [[UInt8]?]) {
        optionals(name, .bytes, values) { $1.bytes($0) }
    }
    package mutating func textArray(_ name: String, _ values: [String?]) {
        optionals(name, .text, values) { $1.text($0) }
    }
    package mutating func textBytesArray(_ name: String, _ values: [[UInt8]?]) {
        optionals(name, .text, values) { $1.textBytes($0) }
    }
    package mutating func jsonArray(_ name: String, _ values: [[UInt8]?]) {
        optionals(name, .json, values) { $1.json($0) }
    }

    private mutating func optionals<Value>(
        _ name: String, _ type: ElementType, _ values: [Value?], _ write: (Value, inout CellWriter) -> Void
    ) {
        array(name, type, count: values.count) { index, cell in
            if let value = values[index] { write(value, &cell) } else { cell.null() }
        }
    }
}
