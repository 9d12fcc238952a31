import Expressions

/// Parses the text of a trigger. Throws the place of the first error.
///
///     any       = all { "||" all }
///     all       = equality { "&&" equality }
///     equality  = relation { ( "==" | "!=" ) relation }
///     relation  = unary { ( "<" | "<=" | ">" | ">=" ) unary }
///
///     unary     = "!" unary | [ "+" | "-" ] number | primary
///     primary   = ( "(" any ")" | text | call ) { ".equals" "(" text ")" }
///
///     call      = ( "Double.parseDouble" | "Integer.parseInt" ) "(" text ")"
///     text      = field | quoted | "(" text ")"
///
/// Recursive descent, never deeper than `TriggerLimits.depthMax`.
struct TriggerParser: TokenParser {
    let tokens: [TriggerToken]
    /// The subscription's fields.
    private let fields: [String]
    var place = 0
    private var depth = 0

    /// A part of the expression, by its type.
    private enum Operand {
        case condition(TriggerCondition)
        case number(TriggerNumber)
        case text(TriggerText)

        var type: TriggerType {
            switch self {
            case .condition: .condition
            case .number: .number
            case .text: .text
            }
        }
    }

    static func parse(_ text: String, fields: [String]) throws(TriggerFault) -> TriggerCondition {
        let bytes = Array(text.utf8)
        guard bytes.count <= TriggerLimits.textBytesMax else {
            throw .invalid(.tooLong(bytes: bytes.count), offset: 0)
        }
        var parser = TriggerParser(tokens: try TriggerLexer.tokens(of: bytes), fields: fields)
        let start = parser.token
        let operand = try parser.parseAny()
        guard parser.token.kind == .end else { throw parser.unexpected(.operator, .end) }
        return try Self.condition(operand, at: start)
    }

    private mutating func parseAny() throws(TriggerFault) -> Operand {
        let start = token
        let first = try parseAll()
        guard token.kind == .symbol("||") else { return first }
        var members = [try Self.condition(first, at: start)]
        while takeSymbol("||") {
            let start = token
            members.append(try Self.condition(try parseAll(), at: start))
        }
        return .condition(.any(members))
    }

    private mutating func parseAll() throws(TriggerFault) -> Operand {
        let start = token
        let first = try parseEquality()
        guard token.kind == .symbol("&&") else { return first }
        var members = [try Self.condition(first, at: start)]
        while takeSymbol("&&") {
            let start = token
            members.append(try Self.condition(try parseEquality(), at: start))
        }
        return .condition(.all(members))
    }

    private mutating func parseEquality() throws(TriggerFault) -> Operand {
        var left = try parseRelation()
        var links = 0
        while let comparison = token.comparison, comparison.isEquality {
            let symbol = token
            // Each link behind the first makes the parsed condition one level deeper.
            guard depth + links <= TriggerLimits.depthMax else { throw Self.fault(.tooDeep, at: symbol) }
            links += 1
            advance()
            let right = try parseRelation()
            left = .condition(try Self.equality(left, comparison, right, at: symbol))
        }
        return left
    }

    private static func equality(
        _ left: Operand, _ comparison: TriggerComparison, _ right: Operand, at symbol: TriggerToken
    ) throws(TriggerFault) -> TriggerCondition {
        switch (left, right) {
        case (.number(let one), .number(let other)): return .comparison(one, comparison, other)
        case (.condition(let one), .condition(let other)):
            return .agreement(one, isEqual: comparison == .equal, other)
        case (.text, .text): throw fault(.textsCompared, at: symbol)
        case (.number, _), (.condition, _), (.text, _):
            throw fault(.badOperands(left.type, comparison, right.type), at: symbol)
        }
    }

    private mutating func parseRelation() throws(TriggerFault) -> Operand {
        var left = try parseUnary()
        while let comparison = token.comparison, !comparison.isEquality {
            let symbol = token
            advance()
            let right = try parseUnary()
            guard case .number(let one) = left, case .number(let other) = right else {
                throw Self.fault(.badOperands(left.type, comparison, right.type), at: symbol)
            }
            left = .condition(.comparison(one, comparison, other))
        }
        return left
    }

    private mutating func parseUnary() throws(TriggerFault) -> Operand {
        switch token.kind {
        case .symbol("!"):
            try goDeeper()
            let start = token
            let inner = try Self.condition(try parseUnary(), at: start)
            depth -= 1
            return .condition(.not(inner))
        case .symbol("-"), .symbol("+"):
            let isNegative = token.kind == .symbol("-")
            advance()
            guard case .number(let text) = token.kind else { throw unexpected(.number) }
            return .number(try takeNumber(text, isNegative: isNegative))
        case .number(let text): return .number(try takeNumber(text, isNegative: false))
        case .identifier, .field, .text, .symbol, .character, .end: return try parsePrimary()
        }
    }

    private mutating func parsePrimary() throws(TriggerFault) -> Operand {
        var operand: Operand
        switch token.kind {
        case .symbol("("):
            try goDeeper()
            operand = try parseAny()
            guard takeSymbol(")") else { throw unexpected(.operator, .closingParenthesis) }
            depth -= 1
        case .identifier(let name): operand = .number(try parseCall(name))
        case .field, .text: operand = .text(try parseText())
        case .number, .symbol, .character, .end: throw unexpected(.operand)
        }
        while token.kind == .symbol(".") { operand = .condition(try parseEquals(operand)) }
        return operand
    }
}

extension TriggerParser {
    private mutating func parseCall(_ first: String) throws(TriggerFault) -> TriggerNumber {
        let start = token
        var name = first
        advance()
        while token.kind == .symbol("."), case .identifier(let part) = tokens[place + 1].kind {
            name += "." + part
            advance()
            advance()
        }
        guard let conversion = NumberConversion(rawValue: name) else { throw Self.fault(.unknownName(name), at: start) }
        return .converted(conversion, try parseArgument())
    }

    /// - Parameter operand: what stands before the point.
    private mutating func parseEquals(_ operand: Operand) throws(TriggerFault) -> TriggerCondition {
        let point = token
        advance()
        guard case .identifier(let name) = token.kind else { throw unexpected(.method) }
        guard name == "equals" else { throw Self.fault(.unknownName(name), at: token) }
        guard case .text(let left) = operand else { throw Self.fault(.noMethods(operand.type), at: point) }
        advance()
        return .equalTexts(left, try parseArgument())
    }

    private mutating func parseArgument() throws(TriggerFault) -> TriggerText {
        guard takeSymbol("(") else { throw unexpected(.openingParenthesis) }
        let text = try parseText()
        guard takeSymbol(")") else { throw unexpected(.closingParenthesis) }
        return text
    }

    private mutating func parseText() throws(TriggerFault) -> TriggerText {
        switch token.kind {
        case .text(let text):
            advance()
            return .literal(text)
        case .field(let reference):
            guard let name = reference.name(in: fields) else {
                throw .fieldNotSubscribed(reference.text, offset: token.offset)
            }
            advance()
            return .field(name)
        case .symbol("("):
            try goDeeper()
            let inner = try parseText()
            guard takeSymbol(")") else { throw unexpected(.closingParenthesis) }
            depth -= 1
            return inner
        case .identifier, .number, .symbol, .character, .end: throw unexpected(.text)
        }
    }

    private mutating func takeNumber(_ text: String, isNegative: Bool) throws(TriggerFault) -> TriggerNumber {
        let number: JavaNumber
        do throws(JavaNumber.LiteralFlaw) { number = try JavaNumber.literal(text, isNegative: isNegative) } catch {
            switch error {
            case .form: throw Self.fault(.numberForm, at: token)
            case .range: throw Self.fault(.numberOutOfRange, at: token)
            }
        }
        advance()
        return .literal(number)
    }

    /// - Parameter start: the operand's first token.
    private static func condition(_ operand: Operand, at start: TriggerToken) throws(TriggerFault) -> TriggerCondition {
        guard case .condition(let condition) = operand else { throw fault(.noCondition(operand.type), at: start) }
        return condition
    }
}

extension TriggerParser {
    /// Takes the opening token.
    private mutating func goDeeper() throws(TriggerFault) {
        depth += 1
        guard depth <= TriggerLimits.depthMax else { throw Self.fault(.tooDeep, at: token) }
        advance()
    }

    private static func fault(_ reason: TriggerFault.Reason, at token: TriggerToken) -> TriggerFault {
        .invalid(reason, offset: token.offset)
    }

    private func unexpected(_ expected: TriggerExpectation...) -> TriggerFault {
        Self.fault(.unexpected(token.piece, expected: expected), at: token)
    }
}
