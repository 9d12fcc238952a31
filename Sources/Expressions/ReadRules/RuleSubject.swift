import Basis
import JSON

/// The path, user, time and request that rules and hooks are evaluated for.
struct RuleSubject {
    let path: [String]
    /// nil: there is no user.
    let auth: UserClaims?
    let now: WallInstant
    /// The values that hooks know of a request, by their names.
    var request = JSONObject()

    /// An operator got a value of another type, or a comparison a claim that is missing. Or a claim is not known.
    struct Failure: Error {}

    /// The operand of a comparison or connective.
    private enum Operand {
        case value(RuleValue)
        /// The user has no such claim, or there is no user. Or data is looked up at an index that is such a claim.
        case missing
    }

    /// The data that a look-up asks for.
    enum LookupTarget {
        case path([String])
        /// An index is no key, so nothing is there.
        case nothing
        /// An index is a claim that is missing.
        case missing
    }

    /// Whether the rule holds. One that fails does not hold, nor does one whose value is not true.
    func fulfils(_ rule: ReadRule, _ values: ([String]) -> RuleValue) -> Bool {
        (try? claim(of: rule.expression, values)) == true
    }

    func target(of lookup: RuleLookup) throws(Failure) -> LookupTarget {
        precondition(lookup.level <= path.count)
        var keys = Array(path.prefix(lookup.level))
        for name in lookup.names {
            switch try operand(of: name) {
            case .missing: return .missing
            case .value(.text(let key)) where !key.isEmpty && !key.utf8.contains(UInt8(ascii: "/")): keys.append(key)
            case .value: return .nothing
            }
        }
        return .path(keys)
    }

    /// Recurses as deep as the expression nests, which the parser bounds.
    private func operand(of expression: RuleExpression, _ values: ([String]) -> RuleValue) throws(Failure) -> Operand {
        switch expression {
        case .literal(let value): return .value(value)
        case .member(let source, let names): return try operand(of: source, names)
        case .lookup(let lookup):
            switch try target(of: lookup) {
            case .path(let path): return .value(values(path))
            case .nothing: return .value(.null)
            case .missing: return .missing
            }
        case .not, .all, .any, .comparison: return .value(.bool(try claim(of: expression, values)))
        }
    }

    /// Whether the expression holds. One that fails holds no more than its negation does.
    private func claim(of expression: RuleExpression, _ values: ([String]) -> RuleValue) throws(Failure) -> Bool {
        switch expression {
        case .literal, .member, .lookup:
            guard case .value(.bool(let claim)) = try operand(of: expression, values) else { throw Failure() }
            return claim
        case .not(let inner): return try !claim(of: inner, values)
        case .all(let members):
            for member in members where try !claim(of: member, values) { return false }
            return true
        case .any(let members):
            var fails = false
            for member in members {
                do throws(Failure) { if try claim(of: member, values) { return true } } catch { fails = true }
            }
            guard !fails else { throw Failure() }
            return false
        case .comparison(let left, let comparison, let right):
            let isWithNull = left.isNull || right.isNull
            let operands = (try operand(of: left, values), try operand(of: right, values))
            return try comparison.holds(
                try Self.value(of: operands.0, isWithNull: isWithNull),
                try Self.value(of: operands.1, isWithNull: isWithNull))
        }
    }

    /// - Parameter isWithNull: the comparison is with the literal `null`, so it asks whether something is missing.
    private static func value(of operand: Operand, isWithNull: Bool) throws(Failure) -> RuleValue {
        switch operand {
        case .value(let value): return value
        case .missing:
            guard isWithNull else { throw Failure() }
            return .null
        }
    }

    private func operand(of source: RuleSource, _ names: [RuleName]) throws(Failure) -> Operand {
        switch source {
        case .now: return .value(names.isEmpty ? .number(DecimalNumber(now.millisecondsSince1970)) : .null)
        case .key(let level): return .value(names.isEmpty ? .text(path[level - 1]) : .null)
        case .auth:
            let operands = try operands(of: names)
            // The token may have had the claim, so it is not missing: it may be anything.
            if case .value(.text(let name)) = operands.first, let auth, !auth.knows(name) { throw Failure() }
            return Self.member(of: auth?.claims ?? .null, operands)
        case .request(let name): return Self.member(of: request[name.rawValue] ?? .null, try operands(of: names))
        }
    }

    /// Looks into objects. A member that is null, or that isn't there, is missing.
    private static func member(of value: JSONValue, _ names: [Operand]) -> Operand {
        var place = value
        for operand in names {
            guard case .value(.text(let name)) = operand, let member = place.object?[name] else { return .missing }
            place = member
        }
        return place.isNull ? .missing : .value(RuleValue(place))
    }

    private func operands(of names: [RuleName]) throws(Failure) -> [Operand] {
        try names.map { (name) throws(Failure) in try operand(of: name) }
    }

    /// An index is a key only if it is a text.
    private func operand(of name: RuleName) throws(Failure) -> Operand {
        switch name {
        case .fixed(let text): return .value(.text(text))
        case .computed(let index): return try operand(of: index, { _ in .null })
        }
    }
}

extension RuleComparison {
    fileprivate func holds(_ left: RuleValue, _ right: RuleValue) throws(RuleSubject.Failure) -> Bool {
        switch self {
        case .equal: return left == right && left != .structure
        case .notEqual: return left != right || left == .structure
        case .less: return try Self.isLess(left, right)
        case .atMost: return try !Self.isLess(right, left)
        case .more: return try Self.isLess(right, left)
        case .atLeast: return try !Self.isLess(left, right)
        }
    }

    private static func isLess(_ left: RuleValue, _ right: RuleValue) throws(RuleSubject.Failure) -> Bool {
        switch (left, right) {
        case (.number(let one), .number(let other)): return one < other
        case (.text(let one), .text(let other)): return one.utf8.lexicographicallyPrecedes(other.utf8)
        case (.null, _), (.bool, _), (.number, _), (.text, _), (.structure, _): throw RuleSubject.Failure()
        }
    }
}

extension WallInstant {
    /// The milliseconds, rounded down.
    fileprivate var millisecondsSince1970: Int64 { microseconds / 1_000 - (microseconds % 1_000 < 0 ? 1 : 0) }
}
