import JSON

/// The keys, look-ups and tokens on the way from the root to a rule's node.
struct RuleWay {
    /// One for each level below the root: the `$name` that binds its key, or nil for a fixed key.
    var variables: [String?] = []
    /// The different look-ups of the rules above.
    var lookups: [RuleLookup] = []
    /// The number of tokens of the rules above.
    var tokens = 0

    var level: Int { variables.count }

    /// The level of the key that the variable is bound to; nil: it is not bound.
    func level(of variable: String) -> Int? { variables.firstIndex(of: variable).map { $0 + 1 } }
}

/// The expression of a read rule or of a hook, and the names in it.
struct ParsedRule {
    let rule: ReadRule
    /// The names behind `auth`, as often as they appear.
    let claims: [RuleName]
    /// The values of the request that a hook names, as often as it does.
    let requestNames: [HookName]
}

/// Parses the expression of a read rule or of a hook. Throws the position of the first error.
///
///     any        = all { "||" all }
///     all        = comparison { "&&" comparison }
///     comparison = unary [ ( "==" | "!=" | "<" | "<=" | ">" | ">=" ) unary ]
///     unary      = "!" unary | "(" any ")" | literal | reference
///     reference  = ( "auth" | "data" | "root" | "now" | "$name" ) { "." name | "[" any "]" }
///     literal    = text | [ "-" ] number | "true" | "false" | "null"
///
/// In the place of `data` and `$name`, hooks have the values of a request (`HookName`).
///
/// Recursive descent, never deeper than `ReadRuleLimits.depthMax`.
struct RuleParser: TokenParser {
    private let pointer: JSONPointer
    private let bytes: [UInt8]
    let tokens: [ExpressionToken]
    var place = 0
    private var depth = 0
    /// The number of brackets around the next token. No look-up may stand between brackets.
    private var brackets = 0
    private var way: RuleWay
    /// nil: the expression is a read rule's.
    private let hook: HookExpression.Kind?
    private var lookups: [RuleLookup] = []
    private var namesAuth = false
    private var namesNow = false
    private var claims: [RuleName] = []
    private var requestNames: [HookName] = []

    /// - Parameters:
    ///   - way: on return with the rule's look-ups and tokens.
    ///   - hook: nil: the expression is a read rule's.
    static func parse(
        _ text: String, at pointer: JSONPointer, way: inout RuleWay, hook: HookExpression.Kind? = nil
    ) throws(ReadRuleFault) -> ParsedRule {
        var parser = try RuleParser(text, at: pointer, way, hook)
        let expression = try parser.parseAny()
        guard parser.token.kind == .end else { throw parser.unexpected(.operator, .end) }
        way = parser.way
        let rule = ReadRule(
            expression: expression, lookups: parser.lookups, namesAuth: parser.namesAuth, namesNow: parser.namesNow)
        return ParsedRule(rule: rule, claims: parser.claims, requestNames: parser.requestNames)
    }

    private init(
        _ text: String, at pointer: JSONPointer, _ way: RuleWay, _ hook: HookExpression.Kind?
    ) throws(ReadRuleFault) {
        bytes = Array(text.utf8)
        guard bytes.count <= ReadRuleLimits.expressionBytesMax else {
            throw ReadRuleFault(.tooLong(bytes: bytes.count), at: pointer, position: 1)
        }
        do throws(QuotedText.Fault) { tokens = try ExpressionLexer.tokens(of: bytes, hasVariables: true) } catch {
            let position = ExpressionLexer.position(of: error.offset, in: bytes)
            throw ReadRuleFault(.quotedText(error.reason), at: pointer, position: position)
        }
        (self.pointer, self.way, self.hook) = (pointer, way, hook)
        let tokensLeft = ReadRuleLimits.tokensMax - way.tokens
        // The end is a token too, but costs nothing.
        guard tokens.count - 1 <= tokensLeft else { throw fault(.tooManyTokens, at: tokens[tokensLeft]) }
        self.way.tokens += tokens.count - 1
    }

    private mutating func parseAny() throws(ReadRuleFault) -> RuleExpression {
        var members = [try parseAll()]
        while takeSymbol("||") { members.append(try parseAll()) }
        return members.count == 1 ? members[0] : .any(members)
    }

    private mutating func parseAll() throws(ReadRuleFault) -> RuleExpression {
        var members = [try parseComparison()]
        while takeSymbol("&&") { members.append(try parseComparison()) }
        return members.count == 1 ? members[0] : .all(members)
    }

    private mutating func parseComparison() throws(ReadRuleFault) -> RuleExpression {
        let left = try parseUnary()
        guard let comparison = token.comparison else { return left }
        advance()
        let right = try parseUnary()
        guard token.comparison == nil else { throw fault(.chainedComparison, at: token) }
        return .comparison(left, comparison, right)
    }

    private mutating func parseUnary() throws(ReadRuleFault) -> RuleExpression {
        let start = token
        switch start.kind {
        case .symbol("!"): return .not(try nested { (parser) throws(ReadRuleFault) in try parser.parseUnary() })
        case .symbol("("):
            return try nested { (parser) throws(ReadRuleFault) in
                let inner = try parser.parseAny()
                guard parser.takeSymbol(")") else { throw parser.unexpected(.operator, .closingParenthesis) }
                return inner
            }
        case .symbol("-"):
            advance()
            guard case .number(let digits) = token.kind else { throw unexpected(.number) }
            return try takeNumber("-" + digits)
        case .number(let digits): return try takeNumber(digits)
        case .text(let text):
            advance()
            return .literal(.text(text))
        case .variable(let name):
            guard let level = way.level(of: name) else {
                throw hook == nil ? fault(.unboundVariable(name), at: start) : unknown("$" + name, at: start)
            }
            advance()
            return .member(.key(level: level), try takeNames())
        case .identifier(let name):
            advance()
            return try parseReference(name, from: start)
        case .quantity, .symbol, .character, .end: throw unexpected(hook == nil ? .value : .hookValue)
        }
    }

    private mutating func takeNumber(_ digits: String) throws(ReadRuleFault) -> RuleExpression {
        guard let number = DecimalNumber(digits) else { throw unexpected(.number) }
        advance()
        return .literal(.number(number))
    }
}

extension RuleParser {
    private static let membersOfFirebase = ["uid", "token"]

    /// - Parameter start: the token of the name, which has been taken.
    private mutating func parseReference(
        _ name: String, from start: ExpressionToken
    ) throws(ReadRuleFault) -> RuleExpression {
        switch name {
        case "true": return .literal(.bool(true))
        case "false": return .literal(.bool(false))
        case "null": return .literal(.null)
        case "now":
            namesNow = true
            return .member(.now, try takeNames())
        case "auth":
            if token.kind == .symbol("."), case .identifier(let name) = tokens[place + 1].kind,
                Self.membersOfFirebase.contains(name)
            {
                throw fault(.memberOfFirebase(name), at: tokens[place + 1])
            }
            let names = try takeNames()
            namesAuth = true
            if let first = names.first { claims.append(first) }
            return .member(.auth, names)
        case "data" where hook == nil: return .lookup(try takeLookup(level: way.level, from: start))
        case "root": return .lookup(try takeLookup(level: 0, from: start))
        default:
            guard let value = hook?.names.first(where: { $0.rawValue == name }) else { throw unknown(name, at: start) }
            requestNames.append(value)
            return .member(.request(value), try takeNames())
        }
    }

    private func unknown(_ name: String, at start: ExpressionToken) -> ReadRuleFault {
        guard let hook else { return fault(.unknownName(name), at: start) }
        return fault(.unknownInHook(name, names: ["auth"] + hook.names.map(\.rawValue) + ["root", "now"]), at: start)
    }

    private mutating func takeLookup(level: Int, from start: ExpressionToken) throws(ReadRuleFault) -> RuleLookup {
        guard brackets == 0 else { throw fault(.lookupInIndex, at: start) }
        let lookup = RuleLookup(level: level, names: try takeNames())
        if !lookups.contains(lookup) { lookups.append(lookup) }
        if !way.lookups.contains(lookup) { way.lookups.append(lookup) }
        guard way.lookups.count <= ReadRuleLimits.lookupsMax else { throw fault(.tooManyLookups, at: start) }
        return lookup
    }

    private mutating func takeNames() throws(ReadRuleFault) -> [RuleName] {
        var names: [RuleName] = []
        while true {
            if takeSymbol(".") {
                guard case .identifier(let name) = token.kind else { throw unexpected(.memberName) }
                advance()
                names.append(.fixed(name))
            } else if token.kind == .symbol("[") {
                names.append(try takeIndex())
            } else {
                return names
            }
        }
    }

    private mutating func takeIndex() throws(ReadRuleFault) -> RuleName {
        brackets += 1
        let index = try nested { (parser) throws(ReadRuleFault) in
            let index = try parser.parseAny()
            guard parser.takeSymbol("]") else { throw parser.unexpected(.operator, .closingBracket) }
            return index
        }
        brackets -= 1
        if case .literal(.text(let name)) = index { return .fixed(name) }
        return .computed(index)
    }

    /// Takes the opening token, and parses what it opens one level deeper.
    private mutating func nested<Result>(
        _ parse: (inout RuleParser) throws(ReadRuleFault) -> Result
    ) throws(ReadRuleFault) -> Result {
        depth += 1
        guard depth <= ReadRuleLimits.depthMax else { throw fault(.tooDeep, at: token) }
        advance()
        let result = try parse(&self)
        depth -= 1
        return result
    }
}

extension RuleParser {
    private func fault(_ reason: ReadRuleFault.Reason, at token: ExpressionToken) -> ReadRuleFault {
        ReadRuleFault(reason, at: pointer, position: ExpressionLexer.position(of: token.offset, in: bytes))
    }

    private func unexpected(_ expected: RuleExpectation...) -> ReadRuleFault {
        fault(.unexpected(token.piece, expected: expected), at: token)
    }
}

extension ExpressionToken {
    fileprivate var comparison: RuleComparison? {
        guard case .symbol(let symbol) = kind else { return nil }
        return RuleComparison(rawValue: symbol)
    }
}
