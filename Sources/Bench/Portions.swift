/// Things numbered from 1 on, in turns: one after the other, and none larger than another by more than one.
package struct Portions {
    package let ranges: [Range<Int>]

    /// - Parameter turns: from 1 up to `count`, so that none is empty.
    package init(_ count: Int, in parts: Int) {
        precondition(parts > 0 && parts <= count)
        ranges = (0..<parts).map { batch in (1 + count * batch / parts)..<(1 + count * (batch + 1) / parts) }
    }
}
