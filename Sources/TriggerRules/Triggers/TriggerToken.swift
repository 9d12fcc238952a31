import Basis
import Expressions

/// A token of a trigger.
struct TriggerToken: ParsedToken {
    enum Kind: ParsedTokenKind {
        case identifier(String)
        case field(FieldReference)
        case text(String)
        /// Everything that belongs to a number in Java, in whatever form. A sign is a symbol.
        case number(String)
        case symbol(String)
        case character
        case end
    }

    let kind: Kind
    /// The offset in bytes.
    let offset: Int

    var piece: TriggerPiece {
        switch kind {
        case .identifier(let identifier): .identifier(identifier)
        case .field: .field
        case .text: .text
        case .number: .number
        case .symbol(let symbol): .symbol(symbol)
        case .character: .character
        case .end: .end
        }
    }

    var comparison: TriggerComparison? {
        guard case .symbol(let symbol) = kind else { return nil }
        return TriggerComparison(rawValue: symbol)
    }
}

/// Splits a trigger into tokens, the last of which is the end.
struct TriggerLexer {
    private var lexer: ExpressionLexer

    static func tokens(of bytes: [UInt8]) throws(TriggerFault) -> [TriggerToken] {
        var lexer = TriggerLexer(lexer: ExpressionLexer(bytes: bytes))
        var tokens: [TriggerToken] = []
        repeat { tokens.append(try lexer.next()) } while tokens.last?.kind != .end
        return tokens
    }

    private mutating func next() throws(TriggerFault) -> TriggerToken {
        lexer.skipBlanks()
        let start = lexer.index
        guard start < lexer.bytes.count else { return TriggerToken(kind: .end, offset: start) }
        return TriggerToken(kind: try take(lexer.bytes[start]), offset: start)
    }

    private mutating func take(_ first: UInt8) throws(TriggerFault) -> TriggerToken.Kind {
        let bytes = lexer.bytes
        let start = lexer.index
        if first == JavaText.mark { return .text(try JavaText.read(bytes, at: &lexer.index)) }
        if ExpressionLexer.isLetter(first) { return .identifier(lexer.takeIdentifier()) }
        if FieldReference.begins(bytes, at: start) { return .field(try takeField()) }
        let isPoint = first == UInt8(ascii: ".")
        if first.isDigit || isPoint && start + 1 < bytes.count && bytes[start + 1].isDigit {
            return .number(takeNumber())
        }
        if let symbol = lexer.takeSymbol() { return .symbol(symbol) }
        lexer.index += 1
        return .character
    }

    private mutating func takeField() throws(TriggerFault) -> FieldReference {
        do throws(FieldReferenceFault) { return try FieldReference.read(lexer.bytes, at: &lexer.index) } catch {
            throw .invalid(.reference(error.reason), offset: error.offset)
        }
    }

    private mutating func takeNumber() -> String {
        let (bytes, start) = (lexer.bytes, lexer.index)
        var end = start
        var before: UInt8 = 0
        while end < bytes.count {
            let byte = bytes[end]
            let isSign = byte == UInt8(ascii: "+") || byte == UInt8(ascii: "-")
            let isOfExponent = isSign && before | 0x20 == UInt8(ascii: "e")
            guard isOfExponent || byte.isDigit || ExpressionLexer.isLetter(byte) || byte == UInt8(ascii: ".") else {
                break
            }
            before = byte
            end += 1
        }
        lexer.index = end
        return String(decoding: bytes[start..<end], as: UTF8.self)
    }
}
