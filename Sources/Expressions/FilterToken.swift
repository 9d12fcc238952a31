import Basis

struct FilterToken: Equatable {
    enum Kind: Equatable {
        case identifier(String)
        case text(String)
        /// Digits, optionally with a point and more digits.
        case number(String)
        /// Digits, and the letters after them.
        case quantity(String, unit: String)
        case symbol(String)
        case character
        case end
    }

    let kind: Kind
    /// The offset in bytes.
    let offset: Int

    var piece: FilterPiece {
        switch kind {
        case .identifier(let identifier): .identifier(identifier)
        case .text: .text
        case .number: .number
        case .quantity: .quantity
        case .symbol(let symbol): .symbol(symbol)
        case .character: .character
        case .end: .end
        }
    }
}

/// Splits a text into tokens, the last of which is the end.
package struct FilterLexer {
    private let bytes: [UInt8]
    private var index = 0

    // Longer ones first. Other languages' symbols are recognised, so that the error can say what is expected.
    private static let symbols = [
        "==", "!=", "<=", ">=", "<>", "&&", "||", "=~", "=", "!", "<", ">", "&", "|", "(", ")", "[", "]", ",", ".", "+",
        "-", "*", "/", "%",
    ]

    static func tokens(of bytes: [UInt8]) throws(FilterFault) -> [FilterToken] {
        var lexer = FilterLexer(bytes: bytes)
        var tokens: [FilterToken] = []
        repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
        return tokens
    }

    private mutating func next() throws(FilterFault) -> FilterToken {
        while index < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[index]) { index += 1 }
        let start = index
        guard start < bytes.count else { return FilterToken(kind: .end, offset: start) }
        return FilterToken(kind: try take(bytes[start]), offset: start)
    }

    private mutating func take(_ first: UInt8) throws(FilterFault) -> FilterToken.Kind {
        switch first {
        case _ where QuotedText.isMark(first): return .text(try takeText())
        case _ where first.isDigit: return takeNumber()
        case _ where Self.isLetter(first): return .identifier(take { Self.isLetter($0) || $0.isDigit })
        default:
            if let symbol = Self.symbols.first(where: { bytes[index...].starts(with: $0.utf8) }) {
                index += symbol.utf8.count
                return .symbol(symbol)
            }
            index += 1
            return .character
        }
    }

    private mutating func takeNumber() -> FilterToken.Kind {
        let whole = take(\.isDigit)
        if index + 1 < bytes.count, bytes[index] == UInt8(ascii: "."), bytes[index + 1].isDigit {
            index += 1
            return .number(whole + "." + take(\.isDigit))
        }
        let unit = take(Self.isLetter)
        return unit.isEmpty ? .number(whole) : .quantity(whole, unit: unit)
    }

    private mutating func takeText() throws(FilterFault) -> String {
        do throws(QuotedText.Fault) { return try QuotedText.read(bytes, at: &index) } catch {
            throw FilterFault(.quotedText(error.reason), at: error.offset, in: bytes)
        }
    }

    private mutating func take(_ isTaken: (UInt8) -> Bool) -> String {
        let start = index
        while index < bytes.count, isTaken(bytes[index]) { index += 1 }
        return String(decoding: bytes[start..<index], as: UTF8.self)
    }
    package static func isLetter(_ byte: UInt8) -> Bool { byte.isLetter || byte == UInt8(ascii: "_") }
    /// True if the text can stand without quotation marks.
    static func isIdentifier(_ text: String) -> Bool {
        guard let first = text.utf8.first, isLetter(first) else { return false }
        return text.utf8.allSatisfy { isLetter($0) || $0.isDigit }
    }
}

extension FilterFault {
    /// - Parameter offset: in bytes.
    init(_ reason: Reason, at offset: Int, in bytes: [UInt8]) {
        // Continuation bytes of a character are not counted.
        let before = bytes[..<offset].reduce(0) { $0 + ($1 & 0xc0 == 0x80 ? 0 : 1) }
        self.init(position: before + 1, reason: reason)
    }
}
