/// A division of things numbered from 1 into consecutive ranges, whose sizes differ by at most one.
package struct Portions {
    package let ranges: [Range<Int>]

    /// - Parameter parts: from 1 up to `count`, so that no range is empty.
    package init(_ count: Int, in parts: Int) {
        precondition(parts > 0 && parts <= count)
        ranges = (0..<parts).map { batch in (1 + count * batch / parts)..<(1 + count * (batch + 1) / parts) }
    }
}
