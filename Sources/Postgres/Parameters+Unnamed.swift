import Basis

// Values without names: removed when the last statement has named parameters.
extension Parameters {
    /// Whether no value lacks a name.
    package var hasNames: Bool { !names.contains("") }

    package mutating func bool(_ value: Bool?) { bool("", value) }
    package mutating func int16(_ value: Int16?) { int16("", value) }
    package mutating func int32(_ value: Int32?) { int32("", value) }
    package mutating func int64(_ value: Int64?) { int64("", value) }
    package mutating func double(_ value: Double?) { double("", value) }
    package mutating func instant(_ value: WallInstant?) { instant("", value) }
    package mutating func uuid(_ value: UniversalID?) { uuid("", value) }
    package mutating func bytes(_ value: [UInt8]?) { bytes("", value) }
    package mutating func text(_ value: String?) { text("", value) }
    package mutating func textBytes(_ value: [UInt8]?) { textBytes("", value) }
    package mutating func json(_ value: [UInt8]?) { json("", value) }
    package mutating func boolArray(_ values: [Bool]) { boolArray("", values) }
    package mutating func boolArray(_ values: [Bool?]) { boolArray("", values) }
    package mutating func int16Array(_ values: [Int16]) { int16Array("", values) }
    package mutating func int16Array(_ values: [Int16?]) { int16Array("", values) }
    package mutating func int32Array(_ values: [Int32]) { int32Array("", values) }
    package mutating func int32Array(_ values: [Int32?]) { int32Array("", values) }
    package mutating func int64Array(_ values: [Int64]) { int64Array("", values) }
    package mutating func int64Array(_ values: [Int64?]) { int64Array("", values) }
    package mutating func doubleArray(_ values: [Double]) { doubleArray("", values) }
    package mutating func doubleArray(_ values: [Double?]) { doubleArray("", values) }
    package mutating func instantArray(_ values: [WallInstant]) { instantArray("", values) }
    package mutating func instantArray(_ values: [WallInstant?]) { instantArray("", values) }
    package mutating func uuidArray(_ values: [UniversalID]) { uuidArray("", values) }
    package mutating func uuidArray(_ values: [UniversalID?]) { uuidArray("", values) }
    package mutating func bytesArray(_ values: [[UInt8]]) { bytesArray("", values) }
    package mutating func bytesArray(_ values: [[UInt8]?]) { bytesArray("", values) }
    package mutating func textArray(_ values: [String]) { textArray("", values) }
    package mutating func textArray(_ values: [String?]) { textArray("", values) }
    package mutating func textBytesArray(_ values: [[UInt8]]) { textBytesArray("", values) }
    package mutating func textBytesArray(_ values: [[UInt8]?]) { textBytesArray("", values) }
    package mutating func jsonArray(_ values: [[UInt8]]) { jsonArray("", values) }
    package mutating func jsonArray(_ values: [[UInt8]?]) { jsonArray("", values) }
    package mutating func array(
        _ type: ElementType, count: Int, _ write: (_ index: Int, _ cell: inout CellWriter) -> Void
    ) {
        array("", type, count: count, write)
    }
}
