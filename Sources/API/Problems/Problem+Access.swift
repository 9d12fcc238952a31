import Expressions
import JSON
import Signing
import WakeUp

// Describes invalid read rules and keys of users' tokens.
extension Problem {
    init(_ fault: ReadRuleFault) {
        let text = fault.reason.text
        let detail = fault.position.map { "At character \($0) of the expression: \(text)." } ?? "The rules: \(text)."
        self.init(.invalidRules, detail, at: fault.pointer, position: fault.position)
    }

    init(_ fault: UserTokenKeyFault) {
        let pointer = JSONPointer.root / "key"
        switch fault {
        case .kidLength(let bytes):
            self.init(
                .valueTooLong, "A kid has 1 to \(UserTokenKey.kidBytesMax) bytes; this one has \(bytes).",
                at: .root / "kid")
        case .secretNotBase64URL:
            self.init(.keyUnreadable, "The secret of HS256 must be base64url without padding.", at: pointer)
        case .secretLength(let bytes):
            self.init(
                .invalidValue,
                "The secret has \(bytes) bytes; it must have \(HS256Key.secretBytes.lowerBound) to "
                    + "\(HS256Key.secretBytes.upperBound).", at: pointer)
        case .pemTooLong(let bytes):
            self.init(
                .valueTooLong, "This has \(bytes) bytes; the limit is \(UserTokenKey.pemBytesMax).", at: pointer)
        case .privateKey:
            self.init(
                .invalidValue,
                "This is a private key. Keep it where tokens are signed, and send the public key: "
                    + "openssl pkey -pubout.", at: pointer)
        case .notOnePublicKey:
            self.init(.keyUnreadable, "This must be one PEM block with the label PUBLIC KEY.", at: pointer)
        case .keyUnreadable: self.init(.keyUnreadable, "The public key can't be read.", at: pointer)
        case .keyOfOtherKind:
            self.init(
                .invalidValue,
                "The key does not fit the algorithm: RS256 takes RSA keys of 2,048 to 8,192 bits, ES256 keys on the "
                    + "curve P-256.", at: pointer)
        case .library: self.init(.internalError, "The key could not be opened. Try again.", at: pointer)
        }
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
        case .tooLong(let bytes):
            "the expression has \(bytes) bytes; the limit is \(ReadRuleLimits.expressionBytesMax)"
        case .tooDeep: "the expression nests more than \(ReadRuleLimits.depthMax) levels deep"
        case .tooManyTokens:
            "this rule and those above it have more than \(ReadRuleLimits.tokensMax) words and operators"
        case .tooManyLookups:
            "this rule and those above it look up more than \(ReadRuleLimits.lookupsMax) places with data and root"
        case .unexpected(let piece, let expected):
            "expected \(CommonText.list(expected.map(\.rawValue))), found \(piece.text)"
        case .unknownName(let name):
            "\(Self.short(name)) is not known; the names are auth, data, root, now, and $ with a name from the path"
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
