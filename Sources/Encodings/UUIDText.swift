import Basis

/// A UUID as text: 36 characters, lower case, 8-4-4-4-12.
package enum UUIDText {
    package static let bytes = 36

    package static func append(_ id: UniversalID, to text: inout [UInt8]) {
        text.append(addingCapacity: bytes) { (digits: inout OutputSpan<UInt8>) in
            Hexadecimal.append(id.high >> 32, bits: 32, to: &digits)
            digits.append(UInt8(ascii: "-"))
            Hexadecimal.append(id.high >> 16, bits: 16, to: &digits)
            digits.append(UInt8(ascii: "-"))
            Hexadecimal.append(id.high, bits: 16, to: &digits)
            digits.append(UInt8(ascii: "-"))
            Hexadecimal.append(id.low >> 48, bits: 16, to: &digits)
            digits.append(UInt8(ascii: "-"))
            Hexadecimal.append(id.low, bits: 48, to: &digits)
        }
    }

    /// Accepts either case. Returns nil for any other shape.
    package static func parse(_ text: some Collection<UInt8>) -> UniversalID? {
        guard text.count == bytes else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for (position, byte) in text.enumerated() {
            switch position {
            case 8, 13, 18, 23: if byte != UInt8(ascii: "-") { return nil }
            case 0..<18:
                guard let digit = Hexadecimal.value(of: byte) else { return nil }
                words.high = words.high << 4 | UInt64(digit)
            default:
                guard let digit = Hexadecimal.value(of: byte) else { return nil }
                words.low = words.low << 4 | UInt64(digit)
            }
        }
        return UniversalID(high: words.high, low: words.low)
    }
}

extension UniversalID {
    package var text: String {
        var text: [UInt8] = []
        text.reserveCapacity(UUIDText.bytes)
        UUIDText.append(self, to: &text)
        return String(decoding: text, as: UTF8.self)
    }

    package init?(text: String) {
        guard let id = UUIDText.parse(text.utf8) else { return nil }
        self = id
    }
}
