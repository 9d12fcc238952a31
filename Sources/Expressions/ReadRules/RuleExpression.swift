import Basis

/// A parsed expression of a read rule or of a hook.
indirect enum RuleExpression: Equatable, Sendable {
    case literal(RuleValue)
    case member(RuleSource, [RuleName])
    case lookup(RuleLookup)
    case not(RuleExpression)
    /// Two or more, evaluated until the first that is false.
    case all([RuleExpression])
    /// Two or more, evaluated until the first that is true.
    case any([RuleExpression])
    case comparison(RuleExpression, RuleComparison, RuleExpression)

    /// Whether it is the literal `null`.
    var isNull: Bool { if case .literal(.null) = self { true } else { false } }
}

/// A value that is known before any data is read.
enum RuleSource: Equatable, Sendable {
    /// The claims of the user's token.
    case auth
    case now
    /// A value of the request that a hook is asked about. Read rules have none.
    case request(HookName)
    /// The key at this level of the path that is read; 1 is the first key below the root.
    case key(level: Int)
}

/// The data at a path that begins with the first keys of the path that is read.
struct RuleLookup: Equatable, Sendable {
    /// The number of these keys: 0 for `root`, the level of the rule's node for `data`.
    let level: Int
    /// The keys after these.
    let names: [RuleName]
}

enum RuleName: Equatable, Sendable {
    case fixed(String)
    /// An expression without look-ups, so that all look-ups of a rule are known before it is evaluated.
    case computed(RuleExpression)

    static func == (left: RuleName, right: RuleName) -> Bool {
        switch (left, right) {
        case (.fixed(let one), .fixed(let other)): one.hasSameBytes(as: other)
        case (.computed(let one), .computed(let other)): one == other
        case (.fixed, _), (.computed, _): false
        }
    }
}

enum RuleComparison: String, Equatable, Sendable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case atMost = "<="
    case more = ">"
    case atLeast = ">="
}

/// The rule of one `.read`.
struct ReadRule: Equatable, Sendable {
    let expression: RuleExpression
    /// The different look-ups of the expression, in the order of their appearance.
    let lookups: [RuleLookup]
    let namesAuth: Bool
    let namesNow: Bool

    static func always(_ claim: Bool) -> ReadRule {
        ReadRule(expression: .literal(.bool(claim)), lookups: [], namesAuth: false, namesNow: false)
    }

    /// Whether it holds for everybody, whatever the data.
    var isAlwaysTrue: Bool { expression == .literal(.bool(true)) }
}
