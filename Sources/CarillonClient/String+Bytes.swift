extension String {
    /// Whether the UTF-8 bytes are equal. Swift's own comparison takes two spellings of "é" for the same text.
    func hasSameBytes(as other: String) -> Bool { utf8.elementsEqual(other.utf8) }

    /// Whether this text comes first in the order of UTF-8 bytes.
    func precedesInBytes(_ other: String) -> Bool { utf8.lexicographicallyPrecedes(other.utf8) }
}

extension [String] {
    /// Whether both lists hold the same texts, byte by byte, in the same order.
    func hasSameBytes(as other: [String]) -> Bool { elementsEqual(other) { $0.hasSameBytes(as: $1) } }
}

extension RawRepresentable<String> {
    /// The case whose raw value has exactly these bytes; nil if there is none.
    init?(bytesOf text: String) {
        self.init(rawValue: text)
        // Swift finds two texts equal that Unicode holds equivalent: the Kelvin sign is equal to a K.
        guard rawValue.hasSameBytes(as: text) else { return nil }
    }
}
