import Model

/// One JSON value as it was written: members keep their order, numbers are exact.
///
/// Equality compares bytes: Swift's own comparison takes two spellings of "é" for the same name.
package enum JSONValue: Equatable, Sendable {
    case null
    case bool(Bool)
    case number(JSONNumber)
    case string(String)
    case array([JSONValue])
    case object(JSONObject)

    package static func == (left: JSONValue, right: JSONValue) -> Bool {
        switch (left, right) {
        case (.null, .null): true
        case (.bool(let one), .bool(let other)): one == other
        case (.number(let one), .number(let other)): one == other
        case (.string(let one), .string(let other)): one.hasSameBytes(as: other)
        case (.array(let one), .array(let other)): one == other
        case (.object(let one), .object(let other)): one == other
        case (.null, _), (.bool, _), (.number, _), (.string, _), (.array, _), (.object, _): false
        }
    }
}

extension JSONValue {
    package static func integer(_ integer: Int) -> JSONValue { .number(.whole(Int64(integer))) }

    package var string: String? { if case .string(let text) = self { text } else { nil } }
    package var bool: Bool? { if case .bool(let claim) = self { claim } else { nil } }
    package var number: JSONNumber? { if case .number(let number) = self { number } else { nil } }
    /// The integer; nil for a number with a fraction, an exponent, or more than 64 bits.
    package var integer: Int64? { number?.integer }
    package var array: [JSONValue]? { if case .array(let elements) = self { elements } else { nil } }
    package var object: JSONObject? { if case .object(let object) = self { object } else { nil } }
    package var isNull: Bool { self == .null }

    /// The kind's name for people: "a number".
    package var kindName: String {
        switch self {
        case .null: "null"
        case .bool: "a boolean"
        case .number: "a number"
        case .string: "a string"
        case .array: "an array"
        case .object: "an object"
        }
    }
}

extension JSONValue: ExpressibleByStringLiteral, ExpressibleByIntegerLiteral, ExpressibleByBooleanLiteral {
    package init(stringLiteral text: String) { self = .string(text) }
    package init(integerLiteral integer: Int64) { self = .number(.whole(integer)) }
    package init(booleanLiteral claim: Bool) { self = .bool(claim) }
}

extension JSONValue: ExpressibleByArrayLiteral, ExpressibleByDictionaryLiteral {
    package init(arrayLiteral elements: JSONValue...) { self = .array(elements) }
    package init(dictionaryLiteral members: (String, JSONValue)...) {
        self = .object(JSONObject(members.map { JSONMember($0.0, $0.1) }))
    }
}

/// A number without loss: one that is no 64-bit integer keeps its text.
package enum JSONNumber: Hashable, Sendable {
    case whole(Int64)
    /// A valid JSON number with a fraction, an exponent, a negative zero, or more digits than 64 bits hold.
    case literal(String)

    package var integer: Int64? { if case .whole(let integer) = self { integer } else { nil } }

    /// The nearest double; infinite if the text exceeds its range.
    package var double: Double {
        switch self {
        case .whole(let integer): Double(integer)
        case .literal(let text): Double(text) ?? .nan
        }
    }
}

/// Members in their written order. Names are unique: the reader refuses duplicates, assignment replaces.
package struct JSONObject: Equatable, Sendable {
    /// From this many members on, repeated searches hash the names. Otherwise a client could cause quadratic time.
    static let fewMembersMax = 16

    package private(set) var members: [JSONMember]

    package init(_ members: [JSONMember] = []) { self.members = members }

    package var count: Int { members.count }
    package var isEmpty: Bool { members.isEmpty }

    /// Assigning nil removes the member; a new name goes last.
    ///
    /// Walks all members, so use it only for names that the code knows, never for each name that a client chose.
    package subscript(name: String) -> JSONValue? {
        get { members.first { $0.name.hasSameBytes(as: name) }?.value }
        set {
            let index = members.firstIndex { $0.name.hasSameBytes(as: name) }
            switch (index, newValue) {
            case (let index?, let value?): members[index] = JSONMember(members[index].name, value)
            case (let index?, nil): members.remove(at: index)
            case (nil, let value?): members.append(JSONMember(name, value))
            case (nil, nil): break
            }
        }
    }
}

package struct JSONMember: Equatable, Sendable {
    package let name: String
    package let value: JSONValue

    package init(_ name: String, _ value: JSONValue) { (self.name, self.value) = (name, value) }

    package static func == (left: JSONMember, right: JSONMember) -> Bool {
        left.name.hasSameBytes(as: right.name) && left.value == right.value
    }
}

extension JSONValue {
    /// The number of members of all objects in it, at every depth. Recurses: the reader bounds the depth.
    package var memberCount: Int {
        switch self {
        case .null, .bool, .number, .string: 0
        case .array(let elements): elements.reduce(0) { $0 + $1.memberCount }
        case .object(let object): object.members.reduce(object.count) { $0 + $1.value.memberCount }
        }
    }
}

extension JSONText {
    package init(_ value: JSONValue) { self.init(bytes: value.bytes) }

    /// Parses the text. Throws only if code wrongly vouched for it.
    package func value() throws(JSONError) -> JSONValue { try JSONReader.read(bytes, limits: .trusted) }
}
