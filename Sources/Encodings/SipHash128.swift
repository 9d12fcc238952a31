/// SipHash-2-4 with a result of 128 bits: fast for short input and evenly distributed.
///
/// Words and bytes are little-endian, as its authors define it.
/// Source: Aumasson and Bernstein, "SipHash: a fast short-input PRF", and their reference code (`siphash.c`).
package struct SipHash128: Sendable {
    private var v0: UInt64
    private var v1: UInt64
    private var v2: UInt64
    private var v3: UInt64

    package init(key0: UInt64, key1: UInt64) {
        v0 = key0 ^ 0x736f_6d65_7073_6575
        v1 = key1 ^ 0x646f_7261_6e64_6f6d ^ 0xee
        v2 = key0 ^ 0x6c79_6765_6e65_7261
        v3 = key1 ^ 0x7465_6462_7974_6573
    }

    /// Hashes three 64-bit words as if they were 24 bytes.
    package func hash(_ one: UInt64, _ two: UInt64, _ three: UInt64) -> (first: UInt64, second: UInt64) {
        var state = self
        state.absorb(one)
        state.absorb(two)
        state.absorb(three)
        state.absorb(24 << 56)
        return state.finish()
    }

    private mutating func absorb(_ word: UInt64) {
        v3 ^= word
        round()
        round()
        v0 ^= word
    }

    private mutating func finish() -> (first: UInt64, second: UInt64) {
        v2 ^= 0xee
        for _ in 0..<4 { round() }
        let first = v0 ^ v1 ^ v2 ^ v3
        v1 ^= 0xdd
        for _ in 0..<4 { round() }
        return (first, v0 ^ v1 ^ v2 ^ v3)
    }

    @inline(__always)
    private mutating func round() {
        v0 &+= v1
        v1 = rotate(v1, 13) ^ v0
        v0 = rotate(v0, 32)
        v2 &+= v3
        v3 = rotate(v3, 16) ^ v2
        v0 &+= v3
        v3 = rotate(v3, 21) ^ v0
        v2 &+= v1
        v1 = rotate(v1, 17) ^ v2
        v2 = rotate(v2, 32)
    }

    @inline(__always)
    private func rotate(_ word: UInt64, _ bits: UInt64) -> UInt64 { word << bits | word >> (64 - bits) }
}
