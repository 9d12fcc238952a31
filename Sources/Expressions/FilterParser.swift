/// Parses the text of a filter. Throws the position of the first error.
///
///     any       = all { "or" all }
///     all       = unit { "and" unit }
///     unit      = "not" unit | "(" any ")" | field test
///     field     = name | "attributes" ( "." name | "[" text "]" ) { ... }
///     test      = ( "==" | "!=" | "<" | "<=" | ">" | ">=" | "has" ) value | "starts_with" text
///               | [ "not" ] "in" "[" value { "," value } "]" | "exists" | "missing"
///     value     = text | number | "true" | "false" | "now" [ ( "+" | "-" ) quantity ]
///
/// Recursive descent, never deeper than `FilterLimits.depthMax`.
struct FilterParser: TokenParser {
    private let bytes: [UInt8]
    let tokens: [ExpressionToken]
    var place = 0
    private var depth = 0
    private var conditions = 0

    static func parse(_ text: String) throws(FilterFault) -> FilterExpression {
        let bytes = Array(text.utf8)
        guard bytes.count <= FilterLimits.textBytesMax else {
            throw FilterFault(position: 1, reason: .tooLong(bytes: bytes.count))
        }
        var parser = FilterParser(bytes: bytes, tokens: try tokens(of: bytes))
        let expression = try parser.parseAny()
        guard parser.token.kind == .end else { throw parser.unexpected(.and, .or, .end) }
        return expression
    }

    private static func tokens(of bytes: [UInt8]) throws(FilterFault) -> [ExpressionToken] {
        do throws(QuotedText.Fault) { return try ExpressionLexer.tokens(of: bytes, hasVariables: false) } catch {
            throw FilterFault(.quotedText(error.reason), at: error.offset, in: bytes)
        }
    }

    private mutating func parseAny() throws(FilterFault) -> FilterExpression {
        var members = [try parseAll()]
        while takeIdentifier("or") { members.append(try parseAll()) }
        return members.count == 1 ? members[0] : .any(members)
    }

    private mutating func parseAll() throws(FilterFault) -> FilterExpression {
        var members = [try parseUnit()]
        while takeIdentifier("and") { members.append(try parseUnit()) }
        return members.count == 1 ? members[0] : .all(members)
    }

    private mutating func parseUnit() throws(FilterFault) -> FilterExpression {
        let opening = token
        if takeIdentifier("not") {
            try goDeeper(from: opening)
            let inner = try parseUnit()
            depth -= 1
            return .not(inner)
        }
        guard takeSymbol("(") else {
            conditions += 1
            guard conditions <= FilterLimits.conditionsMax else { throw fault(.tooManyConditions, at: opening) }
            return .condition(try parseCondition())
        }
        try goDeeper(from: opening)
        let inner = try parseAny()
        guard takeSymbol(")") else { throw unexpected(.and, .or, .closingParenthesis) }
        depth -= 1
        return inner
    }

    private mutating func goDeeper(from opening: ExpressionToken) throws(FilterFault) {
        depth += 1
        guard depth <= FilterLimits.depthMax else { throw fault(.tooDeep, at: opening) }
    }
}

extension FilterParser {
    mutating func takeIdentifier(_ identifier: String) -> Bool { take(.identifier(identifier)) }

    mutating func takeText(_ expected: FilterExpectation = .text) throws(FilterFault) -> String {
        guard case .text(let text) = token.kind else { throw unexpected(expected) }
        advance()
        return text
    }

    func fault(_ reason: FilterFault.Reason, at token: ExpressionToken) -> FilterFault {
        FilterFault(reason, at: token.offset, in: bytes)
    }

    func unexpected(_ expected: FilterExpectation...) -> FilterFault {
        fault(.unexpected(token.piece, expected: expected), at: token)
    }
}

extension FilterFault {
    /// - Parameter offset: in bytes.
    fileprivate init(_ reason: Reason, at offset: Int, in bytes: [UInt8]) {
        self.init(position: ExpressionLexer.position(of: offset, in: bytes), reason: reason)
    }
}

extension FilterExpression {
    package init(parsing text: String) throws(FilterFault) { self = try FilterParser.parse(text) }
}
