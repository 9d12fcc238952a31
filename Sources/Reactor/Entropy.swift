/// Random bytes from the kernel (getrandom), fit for keys and nonces.
package enum Entropy {
    package static func bytes(_ count: Int) -> [UInt8] {
        precondition(count >= 0)
        var generator = SystemRandomNumberGenerator()
        var bytes: [UInt8] = []
        bytes.reserveCapacity(count + 7)
        while bytes.count < count {
            let word: UInt64 = generator.next()
            for shift in stride(from: UInt64(0), to: 64, by: 8) {
                bytes.append(UInt8(truncatingIfNeeded: word >> shift))
            }
        }
        bytes.removeLast(bytes.count - count)
        return bytes
    }

    package static func uint64() -> UInt64 {
        var generator = SystemRandomNumberGenerator()
        return generator.next()
    }
}
