/// The reason why bytes are not the expected JSON, and the place.
package struct JSONError: Error, Equatable, Sendable {
    package let kind: Kind
    /// The place in bytes from the beginning.
    package let offset: Int

    package init(_ kind: Kind, at offset: Int) { (self.kind, self.offset) = (kind, offset) }

    package enum Kind: Equatable, Sendable {
        case endsEarly
        /// A byte that can't stand there.
        case unexpectedByte(UInt8)
        case trailingBytes
        case badNumber
        case badEscape
        case loneSurrogate
        case controlCharacterInString
        case nulInString
        case notUTF8
        case duplicateName
        case tooLarge(bytesMax: Int)
        case tooDeep(depthMax: Int)
        case tooManyValues(valuesMax: Int)
        case numberTooLong(bytesMax: Int)
    }

    /// Whether the text may be in an encoding other than UTF-8, which also leads to these errors.
    var mayBeEncoding: Bool {
        switch kind {
        case .endsEarly, .unexpectedByte, .trailingBytes: true
        case .badNumber, .badEscape, .loneSurrogate, .controlCharacterInString, .nulInString, .notUTF8, .duplicateName,
            .tooLarge, .tooDeep, .tooManyValues, .numberTooLong:
            false
        }
    }

    /// A sentence for people. It quotes none of the text, which may be secret.
    package var sentence: String {
        switch kind {
        case .endsEarly: invalid("the text ends early")
        case .unexpectedByte(let byte): invalid("unexpected \(Self.name(of: byte))")
        case .trailingBytes: invalid("unexpected text after the value")
        case .badNumber: invalid("a number in a form that JSON does not have")
        case .badEscape: invalid("unknown escape in a string")
        case .loneSurrogate: invalid("half of a surrogate pair in a string")
        case .controlCharacterInString: invalid("unescaped control character in a string")
        case .nulInString: "A string has a NUL character at byte \(offset), which can't be stored."
        case .notUTF8: "The text from byte \(offset) on is not UTF-8."
        case .duplicateName: "An object names the same member twice; the second time at byte \(offset)."
        case .tooLarge(let bytesMax): "The JSON is larger than \(bytesMax) bytes."
        case .tooDeep(let depthMax): "The JSON nests deeper than \(depthMax) levels, at byte \(offset)."
        case .tooManyValues(let valuesMax): "The JSON has more than \(valuesMax) values."
        case .numberTooLong(let bytesMax): "The number at byte \(offset) is longer than \(bytesMax) characters."
        }
    }

    private func invalid(_ reason: String) -> String { "Invalid JSON at byte \(offset): \(reason)." }

    /// Punctuation by itself, and other bytes by their kind: a letter or a digit may be part of a secret.
    private static func name(of byte: UInt8) -> String {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"): "letter"
        case UInt8(ascii: "0")...UInt8(ascii: "9"): "digit"
        case 0x21..<0x7f: String(UnicodeScalar(byte))
        case 0x80...: "character that is not ASCII"
        default: "space or control character"
        }
    }
}

/// The limits on JSON that a stranger sends.
package struct JSONLimits: Sendable {
    package var bytesMax: Int
    /// Reading recurses, so this bound protects our stack.
    package var depthMax: Int
    /// The number of values at all levels: a value of two bytes of text takes a multiple in memory.
    package var valuesMax: Int
    package var numberBytesMax: Int
    /// Whether NUL is refused, which PostgreSQL's text can't hold.
    package var refusesNUL: Bool

    package init(
        bytesMax: Int, depthMax: Int = 32, valuesMax: Int = 100_000, numberBytesMax: Int = 64, refusesNUL: Bool = true
    ) {
        (self.bytesMax, self.depthMax, self.valuesMax) = (bytesMax, depthMax, valuesMax)
        (self.numberBytesMax, self.refusesNUL) = (numberBytesMax, refusesNUL)
    }

    package static let standard = JSONLimits(bytesMax: 1 << 20)
    /// No limits, for JSON that we wrote ourselves.
    package static let trusted = JSONLimits(
        bytesMax: .max, depthMax: 128, valuesMax: .max, numberBytesMax: .max, refusesNUL: false)
}
