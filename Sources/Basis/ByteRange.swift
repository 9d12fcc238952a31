/// A place in a flat byte array.
package struct ByteRange: Hashable, Sendable {
    package let start: UInt32
    package let count: UInt32

    package static let empty = ByteRange(start: 0, count: 0)

    /// Both numbers are our own offsets, far below 4 GiB.
    @inlinable package init(start: Int, count: Int) {
        self.start = UInt32(truncatingIfNeeded: start)
        self.count = UInt32(truncatingIfNeeded: count)
    }

    @inlinable package var isEmpty: Bool { count == 0 }
    @inlinable package var range: Range<Int> { Int(start)..<(Int(start) + Int(count)) }
}
