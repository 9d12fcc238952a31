import Expressions

/// The reason why a trigger is refused, and the place.
package enum TriggerFault: Error, Equatable, Sendable {
    /// The text is no trigger.
    case invalid(Reason, offset: Int)
    /// The field isn't among the subscription's fields: its name, or its position as it was written.
    case fieldNotSubscribed(String, offset: Int)

    /// The place of the fault, in bytes of UTF-8 from the beginning of the text. At most the text's length.
    package var offset: Int {
        switch self {
        case .invalid(_, offset: let offset), .fieldNotSubscribed(_, offset: let offset): offset
        }
    }

    /// The position of the faulty character in the trigger, from 1, in Unicode scalars.
    package func position(in trigger: String) -> Int {
        ExpressionLexer.position(of: offset, in: Array(trigger.utf8))
    }

    package enum Reason: Equatable, Sendable {
        case tooLong(bytes: Int)
        /// Parentheses and `!` nest too deeply, or too many comparisons are compared with one another.
        case tooDeep
        case unexpected(TriggerPiece, expected: [TriggerExpectation])
        /// A name or a method that triggers don't have.
        case unknownName(String)
        /// Java's hexadecimal, octal and binary numbers, its underscores and its float numbers are not taken.
        case numberForm
        /// Java refuses integers beyond the range of their type, and numbers that round to infinity or to zero.
        case numberOutOfRange
        case text(TextFlaw)
        case reference(FieldReferenceFlaw)
        /// `==` or `!=` stands between texts, where Java compares objects and not their characters: `.equals` does.
        case textsCompared
        /// Java doesn't compare values of these types in this way.
        case badOperands(TriggerType, TriggerComparison, TriggerType)
        /// A condition is needed, and something else stands there.
        case noCondition(TriggerType)
        /// A method is called on something other than a text.
        case noMethods(TriggerType)
    }

    /// The reason why a text in quotation marks is not one of Java's.
    package enum TextFlaw: Equatable, Sendable {
        /// The text begins here, and never ends.
        case notClosed
        case lineEnd
        case unknownEscape
        /// Half of a character in UTF-16, which no text can hold.
        case loneSurrogate
    }
}

/// The type of a part of a trigger.
package enum TriggerType: String, Equatable, Sendable {
    case condition = "a condition"
    case number = "a number"
    case text = "a text"
}

/// The piece found where another was expected. Texts are not repeated.
package enum TriggerPiece: Equatable, Sendable {
    case end
    case text
    case number
    case field
    case identifier(String)
    case symbol(String)
    /// A character that only texts may contain.
    case character
}

/// A piece that is allowed at a place, worded for people.
package enum TriggerExpectation: String, Equatable, Sendable {
    case operand = "a field, a number, a text in double quotation marks, Double.parseDouble, Integer.parseInt, ! or ("
    case text = "a field such as ${price}, or a text in double quotation marks"
    case number = "a number"
    case method = "equals"
    case `operator` = "an operator (==, !=, <, <=, >, >=, && or ||)"
    case openingParenthesis = "("
    case closingParenthesis = ")"
    case end = "the end"
}

package enum TriggerLimits {
    /// The length of the text, in bytes of UTF-8.
    package static let textBytesMax = 1_024
    /// The nesting of parentheses and `!`. Parsing and evaluating recurse, so this bound protects our stack.
    package static let depthMax = 16
}
