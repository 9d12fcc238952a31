extension JSON {
    /// A JSON number of any size and precision, kept as its text.
    public struct Number: Equatable, Sendable {
        /// The number as it was written, for example `-2.50e3`.
        public let text: String

        /// nil if the text is not a number of RFC 8259: `01`, `+1`, `.5`, `1.` and `NaN` are none.
        public init?(_ text: String) {
            let bytes = Array(text.utf8)
            guard let end = Self.end(in: bytes, from: 0), end == bytes.count else { return nil }
            self.text = text
        }

        public init(_ integer: some BinaryInteger) { text = String(integer) }

        /// Keeps the text as it is. The caller has checked the grammar.
        init(checked text: String) { self.text = text }

        /// The integer; nil for a text with a fraction, an exponent or too many digits for `Int`.
        public var int: Int? { Int(text) }

        /// The nearest `Double`; nil if the number exceeds its range.
        public var double: Double? { Double(text).flatMap { $0.isFinite ? $0 : nil } }
    }
}

extension JSON.Number {
    /// The place after the number that begins at `start`; nil if no complete number begins there.
    static func end(in bytes: [UInt8], from start: Int) -> Int? {
        var index = start
        func has(_ letters: String) -> Bool { index < bytes.count && letters.utf8.contains(bytes[index]) }
        func takeDigits() -> Bool {
            let first = index
            while has("0123456789") { index += 1 }
            return index > first
        }
        if has("-") { index += 1 }
        if has("0") {
            index += 1
        } else if !takeDigits() {
            return nil
        }
        if has(".") {
            index += 1
            guard takeDigits() else { return nil }
        }
        if has("eE") {
            index += 1
            if has("+-") { index += 1 }
            guard takeDigits() else { return nil }
        }
        return index
    }
}
