import Basis
import JSON

/// A value in the evaluation of a read rule.
///
/// Texts are compared by their bytes, and numbers exactly: 1 and 1.0 are equal.
package enum RuleValue: Equatable, Sendable {
    /// Nothing is there.
    case null
    case bool(Bool)
    case number(DecimalNumber)
    case text(String)
    /// An object or an array. Rules can tell it from null, and look into an object, but not compare it.
    ///
    /// A number beyond the range of `DecimalNumber` is one too: it is something, but nothing comparable.
    case structure

    package init(_ value: JSONValue) {
        switch value {
        case .null: self = .null
        case .bool(let claim): self = .bool(claim)
        case .number(let number): self = DecimalNumber(number).map(RuleValue.number) ?? .structure
        case .string(let text): self = .text(text)
        case .array, .object: self = .structure
        }
    }

    package static func == (left: RuleValue, right: RuleValue) -> Bool {
        switch (left, right) {
        case (.null, .null), (.structure, .structure): true
        case (.bool(let one), .bool(let other)): one == other
        case (.number(let one), .number(let other)): one == other
        case (.text(let one), .text(let other)): one.hasSameBytes(as: other)
        case (.null, _), (.bool, _), (.number, _), (.text, _), (.structure, _): false
        }
    }
}
