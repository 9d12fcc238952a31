import Basis
import JSON

extension ReadRules {
    /// Reads rules as an app's backend sends them. Throws the first fault.
    ///
    /// Takes time in proportion to the size of the rules, which the caller bounds: `ReadRuleLimits.json`.
    /// - Parameter pointer: the place of the rules in the body.
    package static func read(_ rules: JSONValue, at pointer: JSONPointer = .root) throws(ReadRuleFault) -> ReadRules {
        var reader = ReadRuleReader()
        _ = try reader.read(rules, at: pointer, RuleWay())
        return ReadRules(nodes: reader.nodes, claims: reader.claims)
    }
}

/// Reads the nodes of rules, each before its children.
private struct ReadRuleReader {
    private(set) var nodes: [RuleNode] = []
    private(set) var claims = NamedClaims.only([])

    private static let readName = ".read"

    /// Returns the node's place. Recurses as deep as the nodes nest.
    mutating func read(_ value: JSONValue, at pointer: JSONPointer, _ way: RuleWay) throws(ReadRuleFault) -> Int {
        guard let members = value.object?.members else { throw ReadRuleFault(.notAnObject, at: pointer) }
        var way = way
        var node = RuleNode()
        let place = nodes.count
        nodes.append(node)
        // The node's own rule comes first, wherever it is written: its look-ups count for the children.
        for member in members where member.name.hasSameBytes(as: Self.readName) {
            node.rule = try rule(member.value, at: pointer / Self.readName, &way)
        }
        var named: [(name: String, place: Int)] = []
        for member in members where !member.name.hasSameBytes(as: Self.readName) {
            let pointer = pointer / member.name
            if let variable = try Self.variable(member.name, at: pointer, way) {
                guard node.other == nil else { throw ReadRuleFault(.twoVariables, at: pointer) }
                node.other = try child(member.value, at: pointer, variable, way)
            } else {
                named.append((member.name, try child(member.value, at: pointer, nil, way)))
            }
        }
        node.setNamed(named)
        nodes[place] = node
        return place
    }

    private mutating func child(
        _ value: JSONValue, at pointer: JSONPointer, _ variable: String?, _ way: RuleWay
    ) throws(ReadRuleFault) -> Int {
        guard way.level < ReadRuleLimits.levelsMax else { throw ReadRuleFault(.tooManyLevels, at: pointer) }
        var way = way
        way.variables.append(variable)
        return try read(value, at: pointer, way)
    }

    private mutating func rule(
        _ value: JSONValue, at pointer: JSONPointer, _ way: inout RuleWay
    ) throws(ReadRuleFault) -> ReadRule {
        switch value {
        case .bool(let claim): return .always(claim)
        case .string(let text):
            let parsed = try RuleParser.parse(text, at: pointer, way: &way)
            for claim in parsed.claims { claims.add(claim) }
            return parsed.rule
        case .null, .number, .array, .object: throw ReadRuleFault(.readOfOtherKind, at: pointer)
        }
    }

    /// Returns the variable's name without the dollar sign; nil: the child has a name of its own.
    private static func variable(
        _ name: String, at pointer: JSONPointer, _ way: RuleWay
    ) throws(ReadRuleFault) -> String? {
        switch name.utf8.first {
        case UInt8(ascii: "."): throw ReadRuleFault(.unknownMember, at: pointer)
        case UInt8(ascii: "$"):
            let variable = String(decoding: name.utf8.dropFirst(), as: UTF8.self)
            guard ExpressionLexer.isIdentifier(variable) else { throw ReadRuleFault(.variableName, at: pointer) }
            guard way.level(of: variable) == nil else {
                throw ReadRuleFault(.variableBoundTwice(variable), at: pointer)
            }
            return variable
        case nil: throw ReadRuleFault(.childName, at: pointer)
        default:
            guard !name.utf8.contains(UInt8(ascii: "/")) else { throw ReadRuleFault(.childName, at: pointer) }
            return nil
        }
    }
}
