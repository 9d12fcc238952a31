/// Bytes as lower-case hexadecimal digits.
package enum Hexadecimal {
    package static func append(_ bytes: Span<UInt8>, to text: inout [UInt8]) {
        text.append(addingCapacity: bytes.count * 2) { (digits: inout OutputSpan<UInt8>) in
            for index in bytes.indices { append(bytes[index], to: &digits) }
        }
    }

    package static func append(_ bytes: [UInt8], to text: inout [UInt8]) { append(bytes.span, to: &text) }

    /// Appends sixteen digits, the most significant first.
    package static func append(_ word: UInt64, to text: inout [UInt8]) {
        text.append(addingCapacity: 16) { (digits: inout OutputSpan<UInt8>) in append(word, bits: 64, to: &digits) }
    }

    package static func text(_ bytes: [UInt8]) -> String {
        var text: [UInt8] = []
        text.reserveCapacity(bytes.count * 2)
        append(bytes, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    /// Accepts either case. Returns nil for an odd count or a character that is no digit.
    package static func decode(_ text: some Collection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 2) else { return nil }
        var bytes: [UInt8] = []
        bytes.reserveCapacity(text.count / 2)
        var high: UInt8?
        for digit in text {
            guard let value = value(of: digit) else { return nil }
            if let first = high {
                bytes.append(first << 4 | value)
                high = nil
            } else {
                high = value
            }
        }
        return bytes
    }

    package static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }

    /// Appends the lowest bits of `word`, one digit per four bits.
    @inline(__always)
    static func append(_ word: UInt64, bits: UInt64, to text: inout OutputSpan<UInt8>) {
        var shift = bits
        while shift > 0 {
            shift -= 4
            text.append(digit(UInt8(truncatingIfNeeded: word >> shift & 0x0f)))
        }
    }

    @inline(__always)
    static func append(_ byte: UInt8, to text: inout OutputSpan<UInt8>) {
        text.append(digit(byte >> 4))
        text.append(digit(byte & 0x0f))
    }

    /// Has no branch: a token's digits are nearly random, and a processor would mispredict half of them.
    @inline(__always)
    static func digit(_ value: UInt8) -> UInt8 {
        let isLetter = (value &+ 6) >> 4
        return value &+ UInt8(ascii: "0") &+ isLetter &* 39
    }

    static func value(of digit: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0")
        case UInt8(ascii: "a")...UInt8(ascii: "f"): digit - UInt8(ascii: "a") + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): digit - UInt8(ascii: "A") + 10
        default: nil
        }
    }
}
