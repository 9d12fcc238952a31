import Basis

/// A token of an expression: of a filter, or of a read rule.
struct ExpressionToken: Equatable, ParsedToken {
    enum Kind: ParsedTokenKind {
        case identifier(String)
        /// A name behind a dollar sign, without the sign. Only read rules have these.
        case variable(String)
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

    var piece: ExpressionPiece {
        switch kind {
        case .identifier(let identifier): .identifier(identifier)
        case .variable(let name): .variable(name)
        case .text: .text
        case .number: .number
        case .quantity: .quantity
        case .symbol(let symbol): .symbol(symbol)
        case .character: .character
        case .end: .end
        }
    }
}

/// The piece found where another was expected. Texts are not repeated.
package enum ExpressionPiece: Equatable, Sendable {
    case end
    case text
    case number
    /// A number with a unit.
    case quantity
    case identifier(String)
    case variable(String)
    case symbol(String)
    /// A character that only texts may contain.
    case character
}

/// Splits a text into tokens, the last of which is the end.
///
/// Filters and read rules have the same tokens. Triggers have texts, numbers and fields of their own, and use the parts
/// that all languages share: blanks, identifiers and symbols.
package struct ExpressionLexer {
    package let bytes: [UInt8]
    /// Whether `$name` is one token. Otherwise the dollar sign is a character that only texts may contain.
    private let hasVariables: Bool
    /// The offset of the next byte.
    package var index = 0

    // Longer ones first. Other languages' symbols are recognised, so that the error can say what is expected.
    private static let symbols = [
        "==", "!=", "<=", ">=", "<>", "&&", "||", "=~", "=", "!", "<", ">", "&", "|", "(", ")", "[", "]", ",", ".", "+",
        "-", "*", "/", "%",
    ]

    package init(bytes: [UInt8], hasVariables: Bool = false) {
        (self.bytes, self.hasVariables) = (bytes, hasVariables)
    }

    static func tokens(of bytes: [UInt8], hasVariables: Bool) throws(QuotedText.Fault) -> [ExpressionToken] {
        var lexer = ExpressionLexer(bytes: bytes, hasVariables: hasVariables)
        var tokens: [ExpressionToken] = []
        repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
        return tokens
    }

    private mutating func next() throws(QuotedText.Fault) -> ExpressionToken {
        skipBlanks()
        let start = index
        guard start < bytes.count else { return ExpressionToken(kind: .end, offset: start) }
        return ExpressionToken(kind: try take(bytes[start]), offset: start)
    }

    private mutating func take(_ first: UInt8) throws(QuotedText.Fault) -> ExpressionToken.Kind {
        switch first {
        case _ where QuotedText.isMark(first): return .text(try QuotedText.read(bytes, at: &index))
        case _ where first.isDigit: return takeNumber()
        case _ where Self.isLetter(first): return .identifier(takeIdentifier())
        case UInt8(ascii: "$") where hasVariables && index + 1 < bytes.count && Self.isLetter(bytes[index + 1]):
            index += 1
            return .variable(takeIdentifier())
        default:
            if let symbol = takeSymbol() { return .symbol(symbol) }
            index += 1
            return .character
        }
    }

    private mutating func takeNumber() -> ExpressionToken.Kind {
        let whole = take(\.isDigit)
        if index + 1 < bytes.count, bytes[index] == UInt8(ascii: "."), bytes[index + 1].isDigit {
            index += 1
            return .number(whole + "." + take(\.isDigit))
        }
        let unit = take(Self.isLetter)
        return unit.isEmpty ? .number(whole) : .quantity(whole, unit: unit)
    }

    package mutating func skipBlanks() {
        while index < bytes.count, [0x20, 0x09, 0x0a, 0x0d].contains(bytes[index]) { index += 1 }
    }

    /// nil: no symbol begins here.
    package mutating func takeSymbol() -> String? {
        guard let symbol = Self.symbols.first(where: { bytes[index...].starts(with: $0.utf8) }) else { return nil }
        index += symbol.utf8.count
        return symbol
    }

    /// Empty if no letter or digit stands here.
    package mutating func takeIdentifier() -> String { take { Self.isLetter($0) || $0.isDigit } }

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

extension ExpressionLexer {
    /// The position of the character at this offset, from 1, in Unicode scalars.
    /// - Parameter offset: in bytes.
    package static func position(of offset: Int, in bytes: [UInt8]) -> Int {
        // Continuation bytes of a character are not counted.
        bytes.prefix(offset).reduce(1) { $0 + ($1 & 0xc0 == 0x80 ? 0 : 1) }
    }
}
