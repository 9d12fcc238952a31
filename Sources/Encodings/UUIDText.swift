import PushModel

/// A UUID as people and headers write it: 36 characters, lower case, 8-4-4-4-12.
package enum UUIDText {
    package static let bytes = 36

    package static func append(_ id: UniversalID, to text: inout [UInt8]) {
        for shift in stride(from: 56, through: 0, by: -8) {
            Hexadecimal.append(UInt8(truncatingIfNeeded: id.high >> UInt64(shift)), to: &text)
            if shift == 32 || shift == 16 { text.append(UInt8(ascii: "-")) }
        }
        text.append(UInt8(ascii: "-"))
        for shift in stride(from: 56, through: 0, by: -8) {
            Hexadecimal.append(UInt8(truncatingIfNeeded: id.low >> UInt64(shift)), to: &text)
            if shift == 48 { text.append(UInt8(ascii: "-")) }
        }
    }

    /// Either case. nil for any other shape.
    package static func parse(_ text: some Collection<UInt8>) -> UniversalID? {
        guard text.count == bytes else { return nil }
        var words: (high: UInt64, low: UInt64) = (0, 0)
        for (position, byte) in text.enumerated() {
            switch position {
            case 8, 13, 18, 23:
                if byte != UInt8(ascii: "-") { return nil }
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
