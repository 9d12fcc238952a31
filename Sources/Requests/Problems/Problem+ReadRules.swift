import Expressions

// Describes invalid read rules: the place, and what is expected there.
extension Problem {
    package init(_ fault: ReadRuleFault) {
        let text = fault.reason.text
        let detail = fault.position.map { "At character \($0) of the expression: \(text)." } ?? "The rules: \(text)."
        self.init(.invalidRules, detail, at: fault.pointer, position: fault.position)
    }
}

extension ReadRuleFault.Reason {
    fileprivate var text: String {
        switch self {
        case .notAnObject: "a node must be an object"
        case .readOfOtherKind: ".read must be true, false or a text with an expression"
        case .unknownMember: "members that begin with a point are reserved; only .read is known"
        case .childName: "a child's name must have a character, and no slash"
        case .variableName:
            "the name behind a dollar sign has letters, digits and underscores, and begins with no digit"
        case .twoVariables: "a node has at most one child whose name begins with a dollar sign"
        case .variableBoundTwice(let name): "$\(Self.short(name)) stands for a key further up already; use another name"
        case .tooManyLevels: "the nodes nest more than \(ReadRuleLimits.levelsMax) levels deep"
        case .tooLong(let bytes): "the expression has \(bytes) bytes; the limit is \(ReadRuleLimits.expressionBytesMax)"
        case .tooDeep: "the expression nests more than \(ReadRuleLimits.depthMax) levels deep"
        case .tooManyTokens:
            "this rule and those above it have more than \(ReadRuleLimits.tokensMax) words and operators"
        case .tooManyLookups:
            "this rule and those above it look up more than \(ReadRuleLimits.lookupsMax) places with data and root"
        case .unexpected(let piece, let expected):
            "expected \(CommonText.list(expected.map(\.rawValue))), found \(piece.text)"
        case .unknownName(let name):
            "\(Self.short(name)) is not known; the names are auth, data, root, now, and $ with a name from the path"
        case .unknownInHook(let name, let names):
            "\(Self.short(name)) is not known here; the names are \(names.joined(separator: ", "))"
        case .memberOfFirebase(let name):
            "auth holds the claims of the user's token: the user is auth.sub, and a claim that is called \(name) is "
                + "auth['\(name)']"
        case .unboundVariable(let name): "no node on the way has a child $\(Self.short(name))"
        case .lookupInIndex: "data and root can't stand between brackets"
        case .chainedComparison: "the result of a comparison is compared; use parentheses or &&"
        case .quotedText(.controlCharacter): "a text must not have control characters"
        case .quotedText(.unknownEscape): CommonText.unknownEscape
        case .quotedText(.notClosed): CommonText.textNotClosed
        }
    }

    private static func short(_ name: String) -> String {
        name.utf8.count <= CommonText.echoedBytesMax ? name : "a long name"
    }
}
