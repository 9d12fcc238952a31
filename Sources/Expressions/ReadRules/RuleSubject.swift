import Basis
import JSON

/// The path, user and time that rules are evaluated for.
struct RuleSubject {
    let path: [String]
    let auth: JSONValue
    let now: WallInstant

    /// An operator got a value of another type.
    struct Failure: Error {}

    /// Whether the rule holds. One that fails does not hold, nor does one whose value is not true.
    func fulfils(_ rule: ReadRule, _ values: ([String]) -> RuleValue) -> Bool {
        (try? value(of: rule.expression, values)) == .bool(true)
    }

    /// nil: an index is no key, so nothing is there.
    func path(of lookup: RuleLookup) throws(Failure) -> [String]? {
        precondition(lookup.level <= path.count)
        var place = Array(path.prefix(lookup.level))
        for name in lookup.names {
            guard let key = try text(of: name), !key.isEmpty, !key.utf8.contains(UInt8(ascii: "/")) else { return nil }
            place.append(key)
        }
        return place
    }

    /// Recurses as deep as the expression nests, which the parser bounds.
    private func value(
        of expression: RuleExpression, _ values: ([String]) -> RuleValue
    ) throws(Failure) -> RuleValue {
        switch expression {
        case .literal(let value): return value
        case .member(let source, let names): return try value(of: source, names)
        case .lookup(let lookup): return try path(of: lookup).map(values) ?? .null
        case .not(let inner): return .bool(try !claim(of: inner, values))
        case .all(let members):
            for member in members where try !claim(of: member, values) { return .bool(false) }
            return .bool(true)
        case .any(let members):
            for member in members where try claim(of: member, values) { return .bool(true) }
            return .bool(false)
        case .comparison(let left, let comparison, let right):
            return .bool(try comparison.holds(try value(of: left, values), try value(of: right, values)))
        }
    }

    private func claim(
        of expression: RuleExpression, _ values: ([String]) -> RuleValue
    ) throws(Failure) -> Bool {
        guard case .bool(let claim) = try value(of: expression, values) else { throw Failure() }
        return claim
    }

    private func value(of source: RuleSource, _ names: [RuleName]) throws(Failure) -> RuleValue {
        let texts = try names.map { (name) throws(Failure) in try text(of: name) }
        switch source {
        case .now: return names.isEmpty ? .number(DecimalNumber(now.millisecondsSince1970)) : .null
        case .key(let level): return names.isEmpty ? .text(path[level - 1]) : .null
        case .auth:
            var place: JSONValue? = auth
            for text in texts { place = text.flatMap { place?.object?[$0] } }
            return place.map(RuleValue.init) ?? .null
        }
    }

    /// nil: the index is no text.
    private func text(of name: RuleName) throws(Failure) -> String? {
        switch name {
        case .fixed(let text): return text
        case .computed(let index):
            guard case .text(let text) = try value(of: index, { _ in .null }) else { return nil }
            return text
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
    fileprivate var millisecondsSince1970: Int64 {
        microseconds / 1_000 - (microseconds % 1_000 < 0 ? 1 : 0)
    }
}
