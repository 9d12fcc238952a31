import Basis

/// A string literal of Java, with all its escapes.
///
/// An escape such as `\u0022` is refused if it stands for a quotation mark, a backslash or the end of a line. Java
/// would read that character as if it stood in the source.
/// Source: Java Language Specification, sections 3.3 and 3.10.5 to 3.10.7.
struct JavaText {
    private let bytes: [UInt8]
    private var index: Int
    /// The offset of the opening quotation mark.
    private let start: Int
    /// The characters so far, in UTF-8.
    private var content: [UInt8] = []

    static let mark = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")
    private static let escapes: [(letter: UInt8, character: Unicode.Scalar)] = [
        (UInt8(ascii: "b"), "\u{8}"), (UInt8(ascii: "t"), "\t"), (UInt8(ascii: "n"), "\n"),
        (UInt8(ascii: "f"), "\u{c}"), (UInt8(ascii: "r"), "\r"), (UInt8(ascii: "s"), " "), (mark, "\""),
        (UInt8(ascii: "'"), "'"), (backslash, "\\"),
    ]

    private init(_ bytes: [UInt8], at index: Int) { (self.bytes, self.index, start) = (bytes, index + 1, index) }

    /// - Parameter index: at the opening quotation mark; on return behind the closing one.
    static func read(_ bytes: [UInt8], at index: inout Int) throws(TriggerFault) -> String {
        var text = JavaText(bytes, at: index)
        try text.readContent()
        index = text.index
        return String(decoding: text.content, as: UTF8.self)
    }

    /// Reads up to the closing mark, and takes it.
    private mutating func readContent() throws(TriggerFault) {
        while index < bytes.count {
            let byte = bytes[index]
            switch byte {
            case Self.mark:
                index += 1
                return
            case Self.backslash:
                let character = try takeEscape()
                content += Array(String(character).utf8)
            case UInt8(ascii: "\n"), UInt8(ascii: "\r"): throw .invalid(.text(.lineEnd), offset: index)
            default:
                content.append(byte)
                index += 1
            }
        }
        throw notClosed
    }

    private mutating func takeEscape() throws(TriggerFault) -> Unicode.Scalar {
        let escape = index
        index += 1
        guard index < bytes.count else { throw notClosed }
        let letter = bytes[index]
        if letter == UInt8(ascii: "u") { return try takeUnicode(from: escape) }
        if Self.isOctal(letter) { return takeOctal() }
        guard let (_, character) = Self.escapes.first(where: { $0.letter == letter }) else {
            throw .invalid(.text(.unknownEscape), offset: escape)
        }
        index += 1
        return character
    }

    /// Up to three digits, for a number of one byte.
    private mutating func takeOctal() -> Unicode.Scalar {
        let digitsMax = bytes[index] <= UInt8(ascii: "3") ? 3 : 2
        var code: UInt8 = 0
        for _ in 0..<digitsMax {
            guard index < bytes.count, Self.isOctal(bytes[index]) else { break }
            code = code * 8 + (bytes[index] - UInt8(ascii: "0"))
            index += 1
        }
        return Unicode.Scalar(code)
    }

    private static func isOctal(_ byte: UInt8) -> Bool { byte.isDigit && byte <= UInt8(ascii: "7") }

    /// - Parameter escape: the offset of the backslash. The index is at the letter behind it.
    private mutating func takeUnicode(from escape: Int) throws(TriggerFault) -> Unicode.Scalar {
        let unit = try takeUnit(from: escape)
        var code = unit
        if (0xd800..<0xdc00).contains(unit) {
            guard index + 1 < bytes.count, bytes[index] == Self.backslash, bytes[index + 1] == UInt8(ascii: "u") else {
                throw .invalid(.text(.loneSurrogate), offset: escape)
            }
            let second = index
            index += 1
            let low = try takeUnit(from: second)
            guard (0xdc00..<0xe000).contains(low) else { throw .invalid(.text(.loneSurrogate), offset: escape) }
            code = 0x10000 + ((unit - 0xd800) << 10) + (low - 0xdc00)
        }
        guard let character = Unicode.Scalar(code) else { throw .invalid(.text(.loneSurrogate), offset: escape) }
        guard !["\"", "\\", "\n", "\r"].contains(character) else {
            throw .invalid(.text(.unknownEscape), offset: escape)
        }
        return character
    }

    /// Takes one or more letters u, and four hexadecimal digits.
    private mutating func takeUnit(from escape: Int) throws(TriggerFault) -> UInt32 {
        while index < bytes.count, bytes[index] == UInt8(ascii: "u") { index += 1 }
        guard index + 4 <= bytes.count else { throw .invalid(.text(.unknownEscape), offset: escape) }
        var unit: UInt32 = 0
        for byte in bytes[index..<index + 4] {
            guard let digit = Self.hexDigit(byte) else { throw .invalid(.text(.unknownEscape), offset: escape) }
            unit = unit << 4 | digit
        }
        index += 4
        return unit
    }

    private static func hexDigit(_ byte: UInt8) -> UInt32? {
        if byte.isDigit { return UInt32(byte - UInt8(ascii: "0")) }
        let small = byte | 0x20
        guard (UInt8(ascii: "a")...UInt8(ascii: "f")).contains(small) else { return nil }
        return UInt32(small - UInt8(ascii: "a")) + 10
    }

    private var notClosed: TriggerFault { .invalid(.text(.notClosed), offset: start) }
}
