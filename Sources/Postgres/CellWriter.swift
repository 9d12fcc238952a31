import Basis

/// Writes values in PostgreSQL's binary protocol: a length of four bytes, then the bytes. A length of -1 means null.
///
/// Parameters and the elements of arrays use this encoding. Everything in it is big-endian.
package struct CellWriter: Sendable {
    var buffer: [UInt8] = []
    private(set) var cellCount = 0
    /// The required type of an array's elements; nil outside an array.
    private var expected: ElementType?

    package mutating func null() { beginCell(byteCount: -1) }

    package mutating func bool(_ value: Bool) {
        beginCell(.bool, byteCount: 1)
        buffer.append(value ? 1 : 0)
    }

    package mutating func int16(_ value: Int16) { append(.int16, value) }
    package mutating func int32(_ value: Int32) { append(.int32, value) }
    package mutating func int64(_ value: Int64) { append(.int64, value) }
    package mutating func double(_ value: Double) { append(.double, value.bitPattern) }
    package mutating func instant(_ value: WallInstant) { append(.instant, PostgresEpoch.encode(value.microseconds)) }

    package mutating func uuid(_ value: UniversalID) {
        beginCell(.uuid, byteCount: 16)
        append(value.high)
        append(value.low)
    }

    package mutating func bytes(_ value: [UInt8]) { append(.bytes, value) }

    package mutating func bytes(_ value: Span<UInt8>) {
        unsafe value.withUnsafeBufferPointer { unsafe append(.bytes, $0) }
    }

    package mutating func text(_ value: String) { append(.text, value.utf8) }

    /// - Parameter utf8: the text. The server refuses invalid UTF-8 and NUL.
    package mutating func textBytes(_ utf8: [UInt8]) { append(.text, utf8) }

    package mutating func json(_ utf8: [UInt8]) {
        beginCell(.json, byteCount: utf8.count + 1)
        buffer.append(CellWriter.jsonbVersion)
        buffer.append(contentsOf: utf8)
    }

    static let jsonbVersion: UInt8 = 1
}

extension CellWriter {
    /// Writes an array as one cell: dimensions, null flag, element type, count, lower bound, then the elements.
    mutating func array(_ type: ElementType, count: Int, _ write: (Int, inout CellWriter) -> Void) {
        precondition(count >= 0)
        let start = buffer.count
        beginCell(byteCount: 0)
        append(Int32(count == 0 ? 0 : 1))
        append(Int32(1))
        append(type.objectID)
        if count > 0 {
            append(Int32(clamping: count))
            append(Int32(1))
            let cellsBefore = cellCount
            let expectedBefore = expected
            expected = type
            for index in 0..<count { write(index, &self) }
            precondition(cellCount == cellsBefore + count, "exactly one cell per element")
            expected = expectedBefore
            cellCount = cellsBefore
        }
        patchLength(at: start)
    }

    private mutating func beginCell(_ type: ElementType, byteCount: Int) {
        precondition(expected == nil || expected == type, "an array has elements of one type")
        beginCell(byteCount: byteCount)
    }

    private mutating func beginCell(byteCount: Int) {
        append(Int32(clamping: byteCount))
        cellCount += 1
    }

    private mutating func append(_ type: ElementType, _ value: some FixedWidthInteger) {
        beginCell(type, byteCount: value.bitWidth / 8)
        append(value)
    }

    private mutating func append(_ type: ElementType, _ bytes: some Collection<UInt8>) {
        beginCell(type, byteCount: bytes.count)
        buffer.append(contentsOf: bytes)
    }

    private mutating func append(_ value: some FixedWidthInteger) {
        unsafe withUnsafeBytes(of: value.bigEndian) { unsafe buffer.append(contentsOf: $0) }
    }

    private mutating func patchLength(at start: Int) {
        let length = UInt32(clamping: buffer.count - start - 4)
        for index in 0..<4 { buffer[start + index] = UInt8(truncatingIfNeeded: length >> UInt32(24 - 8 * index)) }
    }
}
