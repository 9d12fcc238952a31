/// One bit for each of a fixed number of positions, for example which members of a parcel are done.
package struct MemberBitmap: Equatable, Sendable {
    package let count: Int
    /// The bits. The first position is the lowest bit of the first byte. Bits past the last position are clear.
    package private(set) var bytes: [UInt8]

    package init(count: Int) {
        precondition(count >= 0)
        self.count = count
        bytes = [UInt8](repeating: 0, count: (count + 7) / 8)
    }

    /// Returns nil if the number of bytes does not match `count`, or if a bit past the end is set.
    package init?(bytes: [UInt8], count: Int) {
        guard count >= 0, bytes.count == (count + 7) / 8 else { return nil }
        if !count.isMultiple(of: 8), let last = bytes.last, last >> UInt8(count % 8) != 0 { return nil }
        (self.count, self.bytes) = (count, bytes)
    }

    package subscript(position: Int) -> Bool {
        get {
            precondition(position >= 0 && position < count)
            return bytes[position / 8] >> UInt8(position % 8) & 1 == 1
        }
        set {
            precondition(position >= 0 && position < count)
            let bit: UInt8 = 1 << UInt8(position % 8)
            if newValue { bytes[position / 8] |= bit } else { bytes[position / 8] &= ~bit }
        }
    }

    package var setCount: Int { bytes.reduce(0) { $0 + $1.nonzeroBitCount } }

    package func forEachSet(_ visit: (Int) -> Void) {
        for (index, byte) in bytes.enumerated() {
            var remaining = byte
            while remaining != 0 {
                visit(index * 8 + remaining.trailingZeroBitCount)
                remaining &= remaining - 1
            }
        }
    }
}
