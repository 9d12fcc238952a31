import Basis

/// A trigger that compares the number in one field with a fixed number.
///
/// Thresholds of a field, a conversion and a comparison are ordered by their bounds: an index on `double precision`
/// finds exactly those that a number satisfies. The bound of a threshold on `Integer.parseInt` may have a fraction, or
/// be beyond the range of integers. As a double it orders all integers of 32 bits, because doubles hold each of these.
package struct Threshold: Sendable {
    /// The field's name; compared by bytes.
    package let field: String
    package let conversion: NumberConversion
    /// The field's number stands at its left side, and the bound at its right side.
    package let comparison: TriggerComparison
    /// A finite number, never the negative zero, which Java and PostgreSQL take for equal to zero.
    package let bound: Double

    fileprivate init(field: String, _ conversion: NumberConversion, _ comparison: TriggerComparison, bound: Double) {
        (self.field, self.conversion, self.comparison) = (field, conversion, comparison)
        // Zero is its own bound, whatever its sign.
        self.bound = bound == 0 ? 0 : bound
    }

    /// Whether the number satisfies it.
    /// - Parameter number: what `conversion` makes of the field's text. A text without a number satisfies no threshold.
    package func includes(_ number: Double) -> Bool { comparison.compares(number, bound) }
}

extension Threshold: Equatable {
    package static func == (left: Threshold, right: Threshold) -> Bool {
        left.field.hasSameBytes(as: right.field) && left.conversion == right.conversion
            && left.comparison == right.comparison && left.bound == right.bound
    }
}

extension TriggerExpression {
    /// The threshold that the trigger is, in whatever form; nil: no threshold orders it.
    ///
    /// `100.0 < Double.parseDouble(${f})` and `!(Double.parseDouble(${f}) <= 100.0)` are thresholds too. The negation
    /// is exact, because a number that fails satisfies neither the comparison nor its opposite, and NaN fails.
    package var threshold: Threshold? { condition.threshold }
}

extension TriggerExpression {
    /// Thresholds of which at least one is satisfied wherever the trigger holds, each once. Empty: no thresholds order the
    /// trigger.
    ///
    /// All conditions that `&&` joins hold then, so the first one with thresholds speaks for all. One of those that `||`
    /// joins holds, so the thresholds of each are needed.
    package var thresholds: [Threshold] {
        var different: [Threshold] = []
        for threshold in condition.thresholds where !different.contains(threshold) { different.append(threshold) }
        return different
    }
}

extension TriggerCondition {
    /// Recurses as deep as the condition nests.
    fileprivate var thresholds: [Threshold] {
        switch self {
        case .all(let members): return members.lazy.map(\.thresholds).first { !$0.isEmpty } ?? []
        case .any(let members):
            let own = members.map(\.thresholds)
            return own.contains { $0.isEmpty } ? [] : own.flatMap { $0 }
        case .comparison, .not: return threshold.map { [$0] } ?? []
        case .equalTexts, .agreement: return []
        }
    }

    /// Recurses as deep as the condition nests.
    fileprivate var threshold: Threshold? {
        switch self {
        case .comparison(.converted(let conversion, .field(let field)), let comparison, .literal(let bound)):
            Threshold(field: field, conversion, comparison, bound: bound.double)
        case .comparison(.literal(let bound), let comparison, .converted(let conversion, .field(let field))):
            Threshold(field: field, conversion, comparison.mirrored, bound: bound.double)
        case .not(let inner):
            inner.threshold.map {
                Threshold(field: $0.field, $0.conversion, $0.comparison.opposite, bound: $0.bound)
            }
        case .comparison, .equalTexts, .agreement, .all, .any: nil
        }
    }
}

extension TriggerComparison {
    /// The same comparison with its sides exchanged.
    fileprivate var mirrored: TriggerComparison {
        switch self {
        case .equal: .equal
        case .notEqual: .notEqual
        case .less: .more
        case .atMost: .atLeast
        case .more: .less
        case .atLeast: .atMost
        }
    }

    /// The comparison that holds for the other numbers.
    fileprivate var opposite: TriggerComparison {
        switch self {
        case .equal: .notEqual
        case .notEqual: .equal
        case .less: .atLeast
        case .atMost: .more
        case .more: .atMost
        case .atLeast: .less
        }
    }
}
