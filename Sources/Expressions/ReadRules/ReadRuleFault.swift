import JSON

/// The reason why rules or a hook cannot be used, and the place.
package struct ReadRuleFault: Error, Equatable, Sendable {
    /// The node or member at fault.
    package let pointer: JSONPointer
    /// The position of the faulty character in the expression there, from 1, in Unicode scalars. nil: no expression is
    /// at fault.
    package let position: Int?
    package let reason: Reason

    package init(_ reason: Reason, at pointer: JSONPointer, position: Int? = nil) {
        (self.pointer, self.position, self.reason) = (pointer, position, reason)
    }

    package enum Reason: Equatable, Sendable {
        /// A node is neither an object nor anything else that has members.
        case notAnObject
        /// A `.read` is neither true nor false nor a text with an expression.
        case readOfOtherKind
        /// A member begins with a point, and is not `.read`.
        case unknownMember
        /// A child's name is empty or has a slash. No key of the tree does.
        case childName
        /// The name after a dollar sign is not one of letters, digits and underscores that begins with no digit.
        case variableName
        /// Two children of one node begin with a dollar sign.
        case twoVariables
        /// A node above has a child with the same `$name`.
        case variableBoundTwice(String)
        case tooManyLevels

        /// The expression is too long.
        case tooLong(bytes: Int)
        case tooDeep
        /// The limit over this rule and those above it.
        case tooManyTokens
        /// The limit over this rule and those above it.
        case tooManyLookups
        case unexpected(ExpressionPiece, expected: [RuleExpectation])
        case unknownName(String)
        /// Hooks of this kind have other names.
        case unknownInHook(String, names: [String])
        /// `auth.uid` or `auth.token`, which Firebase's rules have. Here they would be claims that few tokens have.
        case memberOfFirebase(String)
        /// No child `$name` is on the way to this rule.
        case unboundVariable(String)
        /// `data` or `root` stands between brackets.
        case lookupInIndex
        /// A comparison's result is compared without parentheses.
        case chainedComparison
        case quotedText(QuotedText.Fault.Reason)
    }
}

/// A piece that is allowed at a position, worded for people.
package enum RuleExpectation: String, Equatable, Sendable {
    case value = "a value (auth, data, root, now, a $name, a text in quotation marks, a number, true, false or null)"
    case hookValue = "a value (a name such as auth, a text in quotation marks, a number, true, false or null)"
    case number = "a number"
    case memberName = "a member's name"
    case `operator` = "an operator (==, !=, <, <=, >, >=, && or ||)"
    case closingParenthesis = ")"
    case closingBracket = "]"
    case end = "the end"
}

/// The limits of an app's rules. They bound the cost of one evaluation, which takes place for each subscriber.
package enum ReadRuleLimits {
    /// The length of the JSON text. Its reader checks it: see `json`.
    package static let sourceBytesMax = 64 * 1_024
    /// The levels below the root.
    package static let levelsMax = 32
    package static let expressionBytesMax = 4_096
    /// The nesting of parentheses, `!` and brackets. Parsing and evaluating recurse, so this bound protects our stack.
    package static let depthMax = 16
    /// Tokens of all rules on the way from the root to a node.
    package static let tokensMax = 1_024
    /// Different look-ups of all rules on the way from the root to a node.
    package static let lookupsMax = 8

    /// The limits for reading a body `{"rules": NODE}`.
    package static let json = JSONLimits(bytesMax: sourceBytesMax, depthMax: levelsMax + 2)
}
