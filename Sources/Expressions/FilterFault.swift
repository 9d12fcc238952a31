/// The reason why a text is no valid filter.
package struct FilterFault: Error, Equatable, Sendable {
    /// The position of the faulty character, from 1, in Unicode scalars.
    package let position: Int
    package let reason: Reason

    package init(position: Int, reason: Reason) { (self.position, self.reason) = (position, reason) }

    package enum Reason: Equatable, Sendable {
        case tooLong(bytes: Int)
        case tooDeep
        case tooManyConditions
        case tooManyValues
        case tooManyNames
        case tooFarFromNow
        case unexpected(ExpressionPiece, expected: [FilterExpectation])
        case unknownField(String)
        case notForField(FilterOperator, field: String, allowed: [FilterOperator])
        case unknownName(field: String, names: [String])
        case quotedText(QuotedText.Fault.Reason)
        case notAVersion
        case notAnInstant
    }
}

/// A piece that is allowed at a position, worded for people.
package enum FilterExpectation: String, Equatable, Sendable {
    case field = "a field"
    case test = "a comparison such as ==, != or in"
    case text = "a text in quotation marks"
    case value = "a value (a text in quotation marks, a number, true or false)"
    case numberOrText = "a number or a text in quotation marks"
    case version = "a version in quotation marks"
    case instant = "a time: now, now - 30d, or a date in quotation marks"
    case quantity = "a number with min, h, d or w"
    case attributeName = "the attribute's name"
    case and, or
    case comma = "a comma"
    case closingParenthesis = ")"
    case openingBracket = "["
    case closingBracket = "]"
    case `in`
    case end = "the end"
}

package enum FilterOperator: String, CaseIterable, Sendable {
    case equal = "=="
    case notEqual = "!="
    case less = "<"
    case atMost = "<="
    case more = ">"
    case atLeast = ">="
    case among = "in"
    case notAmong = "not in"
    case startsWith = "starts_with"
    case has
    case exists
    case missing

    var order: FilterOrder? { FilterOrder(rawValue: rawValue) }
}
