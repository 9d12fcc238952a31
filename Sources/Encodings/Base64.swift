/// Base64 in both alphabets of RFC 4648. Reading is strict: no white space, no leftover bits.
package enum Base64 {
    /// Encodes with "+" and "/", padded with "=".
    package static func encode(_ bytes: [UInt8]) -> String {
        var text = write(bytes, plus: UInt8(ascii: "+"), slash: UInt8(ascii: "/"))
        while !text.count.isMultiple(of: 4) { text.append(UInt8(ascii: "=")) }
        return String(decoding: text, as: UTF8.self)
    }

    /// Encodes with "-" and "_", without padding, as in JWT.
    package static func urlEncode(_ bytes: [UInt8]) -> [UInt8] {
        write(bytes, plus: UInt8(ascii: "-"), slash: UInt8(ascii: "_"))
    }

    /// Decodes the padded form only.
    package static func decode(_ text: some BidirectionalCollection<UInt8>) -> [UInt8]? {
        guard text.count.isMultiple(of: 4) else { return nil }
        var digits = text[...]
        for _ in 0..<2 where digits.last == UInt8(ascii: "=") { digits.removeLast() }
        return read(digits, plus: UInt8(ascii: "+"), slash: UInt8(ascii: "/"))
    }

    package static func decode(_ text: String) -> [UInt8]? { decode(text.utf8) }

    /// Decodes the form without padding only.
    package static func urlDecode(_ text: some Collection<UInt8>) -> [UInt8]? {
        read(text, plus: UInt8(ascii: "-"), slash: UInt8(ascii: "_"))
    }

    private static func write(_ bytes: [UInt8], plus: UInt8, slash: UInt8) -> [UInt8] {
        var text: [UInt8] = []
        text.reserveCapacity((bytes.count + 2) / 3 * 4)
        var pending: UInt32 = 0
        var deferredBits: UInt32 = 0
        for byte in bytes {
            pending = pending << 8 | UInt32(byte)
            deferredBits += 8
            while deferredBits >= 6 {
                deferredBits -= 6
                text.append(digit(UInt8(pending >> deferredBits & 0x3f), plus, slash))
            }
        }
        if deferredBits > 0 { text.append(digit(UInt8(pending << (6 - deferredBits) & 0x3f), plus, slash)) }
        return text
    }

    private static func read(_ text: some Collection<UInt8>, plus: UInt8, slash: UInt8) -> [UInt8]? {
        var bytes: [UInt8] = []
        var pending: UInt32 = 0
        var deferredBits: UInt32 = 0
        for digit in text {
            guard let value = value(of: digit, plus, slash) else { return nil }
            pending = pending << 6 | UInt32(value)
            deferredBits += 6
            if deferredBits >= 8 {
                deferredBits -= 8
                bytes.append(UInt8(truncatingIfNeeded: pending >> deferredBits))
            }
            pending &= (1 << deferredBits) - 1
        }
        // A single last digit holds no byte. Leftover bits would give one value two spellings.
        return deferredBits < 6 && pending == 0 ? bytes : nil
    }

    private static func digit(_ value: UInt8, _ plus: UInt8, _ slash: UInt8) -> UInt8 {
        switch value {
        case 0..<26: UInt8(ascii: "A") + value
        case 26..<52: UInt8(ascii: "a") + value - 26
        case 52..<62: UInt8(ascii: "0") + value - 52
        case 62: plus
        default: slash
        }
    }

    private static func value(of digit: UInt8, _ plus: UInt8, _ slash: UInt8) -> UInt8? {
        switch digit {
        case UInt8(ascii: "A")...UInt8(ascii: "Z"): digit - UInt8(ascii: "A")
        case UInt8(ascii: "a")...UInt8(ascii: "z"): digit - UInt8(ascii: "a") + 26
        case UInt8(ascii: "0")...UInt8(ascii: "9"): digit - UInt8(ascii: "0") + 52
        case plus: 62
        case slash: 63
        default: nil
        }
    }
}
