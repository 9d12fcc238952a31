/// The reason why bytes are not the expected JSON, and the place.
package struct JSONError: Error, Equatable, Sendable {
    package let kind: Kind
    /// The place in bytes from the beginning.
    package let offset: Int

    package init(_ kind: Kind, at offset: Int) { (self.kind, self.offset) = (kind, offset) }

    package enum Kind: Equatable, Sendable {
        case endsEarly
        case unexpectedByte
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
        case .endsEarly: "The JSON ends early, at byte \(offset)."
        case .unexpectedByte: "This is not JSON: byte \(offset) is not what may stand there."
        case .trailingBytes: "Something follows the JSON value, at byte \(offset)."
        case .badNumber: "The number at byte \(offset) is not written as JSON writes numbers."
        case .badEscape: "The string has an unknown escape at byte \(offset)."
        case .loneSurrogate: "The string has half a surrogate pair at byte \(offset)."
        case .controlCharacterInString: "The string has an unescaped control character at byte \(offset)."
        case .nulInString: "The string has a NUL character at byte \(offset), which cannot be stored."
        case .notUTF8: "What begins at byte \(offset) is not UTF-8."
        case .duplicateName: "The object names the same member twice; the second time at byte \(offset)."
        case .tooLarge(let bytesMax): "The JSON is larger than \(bytesMax) bytes."
        case .tooDeep(let depthMax): "The JSON nests deeper than \(depthMax) levels, at byte \(offset)."
        case .tooManyValues(let valuesMax): "The JSON has more than \(valuesMax) values."
        case .numberTooLong(let bytesMax): "The number at byte \(offset) is longer than \(bytesMax) characters."
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
