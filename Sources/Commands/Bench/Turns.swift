/// Things numbered from 1 on, in turns: one after the other, and none larger than another by more than one.
package struct Turns {
    package let ranges: [Range<Int>]

    /// - Parameter turns: from 1 up to `count`, so that none is empty.
    package init(_ count: Int, in turns: Int) {
        precondition(turns > 0 && turns <= count)
        ranges = (0..<turns).map { turn in (1 + count * turn / turns)..<(1 + count * (turn + 1) / turns) }
    }
}
