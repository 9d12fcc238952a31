/// A JSON value as the gateway sent it. Numbers are exact, and the members of an object keep their order.
///
/// ```swift
/// let value = try JSON(parsing: #"{"name":"Ada","age":36}"#)
/// value.object?["age"]?.int  // 36
/// ```
///
/// To decode your own types, hand `Data(value.serialized.utf8)` to Foundation's `JSONDecoder`.
///
/// Equality compares strings and names by their UTF-8 bytes, numbers by their text (`1` is not `1.0`), and objects
/// without regard to the order of their members.
///
/// Source: RFC 8259.
public enum JSON: Sendable {
    case null
    case bool(Bool)
    case number(Number)
    case string(String)
    case array([JSON])
    case object(Object)
}

extension JSON {
    /// Whether the value is `null`, which is how a payload writes a deleted node.
    public var isNull: Bool { if case .null = self { true } else { false } }

    /// The boolean; nil for every other kind of value.
    public var bool: Bool? { if case .bool(let flag) = self { flag } else { nil } }

    /// The number with its exact text; nil for every other kind of value.
    public var number: Number? { if case .number(let number) = self { number } else { nil } }

    /// The integer; nil if the value is no number, or its text has a fraction, an exponent or too many digits.
    public var int: Int? { number?.int }

    /// The nearest `Double`; nil if the value is no number, or exceeds the range of `Double`.
    public var double: Double? { number?.double }

    /// The string without quotation marks and escapes; nil for every other kind of value.
    public var string: String? { if case .string(let text) = self { text } else { nil } }

    /// The elements; nil if the value is no array.
    public var array: [JSON]? { if case .array(let elements) = self { elements } else { nil } }

    /// The members; nil if the value is no object.
    public var object: Object? { if case .object(let object) = self { object } else { nil } }
}

extension JSON: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    public init(stringLiteral text: String) { self = .string(text) }
    public init(integerLiteral integer: Int) { self = .number(Number(integer)) }
    public init(booleanLiteral flag: Bool) { self = .bool(flag) }
}

extension JSON: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    public init(arrayLiteral elements: JSON...) { self = .array(elements) }
    public init(dictionaryLiteral members: (String, JSON)...) {
        self = .object(Object(members.map { (name: $0.0, value: $0.1) }))
    }
}
