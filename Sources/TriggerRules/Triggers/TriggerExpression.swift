/// A condition on the fields of an update, in Java's form: `Double.parseDouble(${last_price}) > 100.0`.
///
/// - `${last_price}` is the text of a field of the subscription, and `$[1]` that of its first field.
/// - `Double.parseDouble` and `Integer.parseInt` make a number of a text. `.equals` compares two texts.
/// - Literals are texts in double quotation marks and decimal numbers: `-2`, `3000000000L`, `1.5e3`.
/// - `== != < <= > >=` compare numbers, `== !=` also conditions. `&& || !` and parentheses join conditions.
///
/// Types and precedence are Java's. Java takes more: a part that isn't listed here is refused.
///
/// A field without a value and a conversion that fails make the whole expression false, as Java's exceptions would.
/// They matter only if they are reached: `&&` and `||` evaluate their right side only if the left side decides nothing.
/// Source: the described service, "Triggers"; Java Language Specification, sections 5.6 and 15.18 to 15.24.
package struct TriggerExpression: Sendable {
    let condition: TriggerCondition

    /// Takes time in proportion to the text, which is bounded: see `TriggerLimits`.
    /// - Parameter fields: the subscription's fields, in their order.
    package init(parsing text: String, fields: [String]) throws(TriggerFault) {
        condition = try TriggerParser.parse(text, fields: fields)
    }
}

/// A parsed condition. Fields are known by their names.
indirect enum TriggerCondition: Sendable {
    /// Two or more, evaluated until the first that is false.
    case all([TriggerCondition])
    /// Two or more, evaluated until the first that is true.
    case any([TriggerCondition])
    case not(TriggerCondition)
    case comparison(TriggerNumber, TriggerComparison, TriggerNumber)
    /// Both texts have the same bytes.
    case equalTexts(TriggerText, TriggerText)
    /// Both conditions have the same result, or different ones. Both are evaluated.
    case agreement(TriggerCondition, isEqual: Bool, TriggerCondition)
}

enum TriggerNumber {
    case literal(JavaNumber)
    case converted(NumberConversion, TriggerText)
}

enum TriggerText {
    case field(String)
    case literal(String)
}

/// A comparison of two numbers.
package enum TriggerComparison: String, CaseIterable, Sendable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case atMost = "<="
    case more = ">"
    case atLeast = ">="

    var isEquality: Bool { self == .equal || self == .notEqual }
}
