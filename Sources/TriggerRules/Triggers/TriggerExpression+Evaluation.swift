import Basis

extension TriggerExpression {
    /// Whether the trigger fires. One that fails doesn't, nor does its negation.
    ///
    /// Takes time in proportion to the trigger and to the texts of the fields that it names, each as often as it does.
    /// - Parameter value: returns the text of a field of the subscription; nil: the field has no value.
    package func holds(_ value: (String) -> String?) -> Bool { (try? condition.holds(value)) == true }
}

/// A field has no value, or no number is in its text.
struct TriggerFailure: Error {}

extension TriggerCondition {
    /// Evaluates from the left, as Java does. Recurses as deep as the condition nests, which the parser bounds.
    func holds(_ value: (String) -> String?) throws(TriggerFailure) -> Bool {
        switch self {
        case .all(let members):
            for member in members where try !member.holds(value) { return false }
            return true
        case .any(let members):
            for member in members where try member.holds(value) { return true }
            return false
        case .not(let inner): return try !inner.holds(value)
        case .comparison(let left, let comparison, let right):
            return comparison.holds(try left.number(value), try right.number(value))
        case .equalTexts(let one, let other): return try one.text(value).hasSameBytes(as: other.text(value))
        case .agreement(let one, isEqual: let isEqual, let other):
            let (first, second) = (try one.holds(value), try other.holds(value))
            return (first == second) == isEqual
        }
    }
}

extension TriggerNumber {
    fileprivate func number(_ value: (String) -> String?) throws(TriggerFailure) -> JavaNumber {
        switch self {
        case .literal(let number): return number
        case .converted(let conversion, let text):
            guard let number = conversion.value(try text.text(value)) else { throw TriggerFailure() }
            return number
        }
    }
}

extension TriggerText {
    /// Java's own null equals no text. Here a field without a value fails there too, as it does in conversions.
    fileprivate func text(_ value: (String) -> String?) throws(TriggerFailure) -> String {
        switch self {
        case .literal(let text): return text
        case .field(let name):
            guard let text = value(name) else { throw TriggerFailure() }
            return text
        }
    }
}

extension TriggerComparison {
    /// Two integers are compared as such, and all other numbers as doubles.
    ///
    /// Source: Java Language Specification, section 5.6, binary numeric promotion.
    func holds(_ left: JavaNumber, _ right: JavaNumber) -> Bool {
        if case .integer(let one) = left, case .integer(let other) = right { return compares(one, other) }
        return compares(left.double, right.double)
    }

    /// Negative zero equals zero.
    func compares<Number: Comparable>(_ left: Number, _ right: Number) -> Bool {
        switch self {
        case .equal: left == right
        case .notEqual: left != right
        case .less: left < right
        case .atMost: left <= right
        case .more: left > right
        case .atLeast: left >= right
        }
    }
}
