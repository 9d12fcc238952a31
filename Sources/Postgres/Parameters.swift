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

    package mutating func bool(_ name: String, _ value: Bool?) { scalar(name, .bool, value) { $0.bool($1) } }
    package mutating func int16(_ name: String, _ value: Int16?) { scalar(name, .int16, value) { $0.int16($1) } }
    package mutating func int32(_ name: String, _ value: Int32?) { scalar(name, .int32, value) { $0.int32($1) } }
    package mutating func int64(_ name: String, _ value: Int64?) { scalar(name, .int64, value) { $0.int64($1) } }
    package mutating func double(_ name: String, _ value: Double?) { scalar(name, .double, value) { $0.double($1) } }
    package mutating func instant(_ name: String, _ value: WallInstant?) {
        scalar(name, .instant, value) { $0.instant($1) }
    }
    package mutating func uuid(_ name: String, _ value: UniversalID?) { scalar(name, .uuid, value) { $0.uuid($1) } }
    package mutating func bytes(_ name: String, _ value: [UInt8]?) { scalar(name, .bytes, value) { $0.bytes($1) } }
    package mutating func text(_ name: String, _ value: String?) { scalar(name, .text, value) { $0.text($1) } }
    package mutating func textBytes(_ name: String, _ utf8: [UInt8]?) { scalar(name, .text, utf8) { $0.textBytes($1) } }
    package mutating func json(_ name: String, _ utf8: [UInt8]?) { scalar(name, .json, utf8) { $0.json($1) } }

    /// Adds an array of one dimension. `write` must write exactly one cell per index.
    package mutating func array(
        _ name: String, _ type: ElementType, count: Int, _ write: (_ index: Int, _ cell: inout CellWriter) -> Void
    ) {
        begin(name, type.arrayObjectID)
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

    private mutating func scalar<Value>(
        _ name: String, _ type: ElementType, _ value: Value?, _ write: (inout CellWriter, Value) -> Void
    ) {
        begin(name, type.objectID)
        if let value { write(&cells, value) } else { cells.null() }
    }

    private mutating func begin(_ name: String, _ objectID: UInt32) {
        names.append(name)
        types.append(objectID)
        starts.append(cells.buffer.count)
    }
}

// Arrays from Swift arrays. The overloads with optional elements write nulls.
extension Parameters {
    package mutating func boolArray(_ name: String, _ values: [Bool]) { elements(name, .bool, values) { $0.bool($1) } }
    package mutating func int16Array(_ name: String, _ values: [Int16]) {
        elements(name, .int16, values) { $0.int16($1) }
    }
    package mutating func int32Array(_ name: String, _ values: [Int32]) {
        elements(name, .int32, values) { $0.int32($1) }
    }
    package mutating func int64Array(_ name: String, _ values: [Int64]) {
        elements(name, .int64, values) { $0.int64($1) }
    }
    package mutating func doubleArray(_ name: String, _ values: [Double]) {
        elements(name, .double, values) { $0.double($1) }
    }
    package mutating func instantArray(_ name: String, _ values: [WallInstant]) {
        elements(name, .instant, values) { $0.instant($1) }
    }
    package mutating func uuidArray(_ name: String, _ values: [UniversalID]) {
        elements(name, .uuid, values) { $0.uuid($1) }
    }
    package mutating func bytesArray(_ name: String, _ values: [[UInt8]]) {
        elements(name, .bytes, values) { $0.bytes($1) }
    }
    package mutating func textArray(_ name: String, _ values: [String]) {
        elements(name, .text, values) { $0.text($1) }
    }
    package mutating func textBytesArray(_ name: String, _ values: [[UInt8]]) {
        elements(name, .text, values) { $0.textBytes($1) }
    }

    package mutating func int16Array(_ name: String, _ values: [Int16?]) {
        optionals(name, .int16, values) { $0.int16($1) }
    }
    package mutating func int32Array(_ name: String, _ values: [Int32?]) {
        optionals(name, .int32, values) { $0.int32($1) }
    }
    package mutating func int64Array(_ name: String, _ values: [Int64?]) {
        optionals(name, .int64, values) { $0.int64($1) }
    }
    package mutating func instantArray(_ name: String, _ values: [WallInstant?]) {
        optionals(name, .instant, values) { $0.instant($1) }
    }
    package mutating func bytesArray(_ name: String, _ values: [[UInt8]?]) {
        optionals(name, .bytes, values) { $0.bytes($1) }
    }
    package mutating func textArray(_ name: String, _ values: [String?]) {
        optionals(name, .text, values) { $0.text($1) }
    }
    package mutating func jsonArray(_ name: String, _ values: [[UInt8]?]) {
        optionals(name, .json, values) { $0.json($1) }
    }

    private mutating func elements<Value>(
        _ name: String, _ type: ElementType, _ values: [Value], _ write: (inout CellWriter, Value) -> Void
    ) { array(name, type, count: values.count) { write(&$1, values[$0]) } }

    private mutating func optionals<Value>(
        _ name: String, _ type: ElementType, _ values: [Value?], _ write: (inout CellWriter, Value) -> Void
    ) {
        array(name, type, count: values.count) { index, cell in
            if let value = values[index] { write(&cell, value) } else { cell.null() }
        }
    }
}
