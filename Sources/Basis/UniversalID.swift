/// 128 bits in network order. Messages have version 7 (rising with time), pushes version 8.
///
/// Source: RFC 9562.
package struct UniversalID: Hashable, Comparable, Sendable {
    package let high: UInt64
    package let low: UInt64

    @inlinable package init(high: UInt64, low: UInt64) { (self.high, self.low) = (high, low) }

    package static func < (left: UniversalID, right: UniversalID) -> Bool {
        left.high == right.high ? left.low < right.low : left.high < right.high
    }
}
