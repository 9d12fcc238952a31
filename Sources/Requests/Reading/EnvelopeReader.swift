import JSON

/// Takes an object's members one by one, each with its expected type. `end` refuses all others by name.
///
/// null means the same as absence, except in `change`.
package struct EnvelopeReader {
    private let members: [JSONMember]
    private var isTaken: [Bool]
    package let pointer: JSONPointer

    /// The longest member name that an error echoes. For a longer one the error points to its object.
    private static let echoedNameBytesMax = 64

    /// - Parameter example: shown to a client that sends something other than an object.
    package init(_ value: JSONValue, at pointer: JSONPointer = .root, like example: String? = nil) throws(Problem) {
        members = try value.members(at: pointer, like: example).members
        isTaken = Array(repeating: false, count: members.count)
        self.pointer = pointer
    }

    package init(body: [UInt8], limits: JSONLimits = .standard) throws(Problem) {
        try self.init(try Self.value(body, limits: limits))
    }

    /// Reads a body that holds an object. The type of its value is not checked.
    static func value(_ body: [UInt8], limits: JSONLimits = .standard) throws(Problem) -> JSONValue {
        guard !body.isEmpty else { throw Problem(.malformedJSON, "The body is empty; a JSON object is expected.") }
        do throws(JSONError) { return try JSONReader.read(body, limits: limits) } catch { throw Problem(error) }
    }

    /// Takes a member whose value may be null.
    package mutating func takeAny(_ name: String) -> JSONValue? {
        guard let place = members.firstIndex(where: { $0.name.hasSameBytes(as: name) }) else { return nil }
        isTaken[place] = true
        return members[place].value
    }

    /// Returns a member's value without taking it.
    package func peek(_ name: String) -> JSONValue? { members.first { $0.name.hasSameBytes(as: name) }?.value }

    /// Whether the object has the member, be it null.
    package func names(_ name: String) -> Bool { peek(name) != nil }

    /// Returns the first member with another name; nil: there is none.
    func firstMember(besides names: [String]) -> String? {
        members.first { member in !names.contains { $0.hasSameBytes(as: member.name) } }?.name
    }

    /// Returns the place of a member; of the object itself if the name is too long to be repeated.
    func place(of name: String) -> JSONPointer {
        name.utf8.count <= Self.echoedNameBytesMax ? pointer / name : pointer
    }

    package mutating func take(_ name: String) -> JSONValue? {
        guard let value = takeAny(name), !value.isNull else { return nil }
        return value
    }

    package mutating func required(_ name: String, _ meaning: @autoclosure () -> String) throws(Problem) -> JSONValue {
        guard let value = take(name) else {
            throw Problem(.missingMember, "\(name) is missing: \(meaning()).", at: pointer / name)
        }
        return value
    }

    /// Throws if a member was not taken: such a member is unknown.
    package func end() throws(Problem) {
        guard let place = isTaken.firstIndex(of: false) else { return }
        let name = members[place].name
        guard name.utf8.count <= Self.echoedNameBytesMax else {
            throw Problem(.unknownMember, "A member with a name of \(name.utf8.count) bytes is not known.", at: pointer)
        }
        throw Problem(
            .unknownMember, "\"\(name)\" is not a known member. Correct or remove it; nothing is ignored silently.",
            at: pointer / name)
    }
}

extension EnvelopeReader {
    package mutating func string(_ name: String, bytesMax: Int) throws(Problem) -> String? {
        try take(name)?.text(bytesMax: bytesMax, at: pointer / name)
    }

    package mutating func requiredString(_ name: String, bytesMax: Int, _ meaning: String) throws(Problem) -> String {
        try required(name, meaning).text(bytesMax: bytesMax, at: pointer / name)
    }

    /// Takes a string of any length, which may be empty.
    package mutating func anyString(_ name: String) throws(Problem) -> String? {
        try take(name)?.anyString(at: pointer / name)
    }

    package mutating func bool(_ name: String) throws(Problem) -> Bool? {
        guard let value = take(name) else { return nil }
        guard let claim = value.bool else { throw .wrongType(value, "true or false", at: pointer / name) }
        return claim
    }

    package mutating func integer(_ name: String, _ range: ClosedRange<Int32>) throws(Problem) -> Int32? {
        try take(name)?.whole(range, at: pointer / name)
    }

    package mutating func array(_ name: String, countMax: Int) throws(Problem) -> [JSONValue]? {
        try take(name)?.elements(countMax: countMax, at: pointer / name)
    }

    package mutating func object(_ name: String) throws(Problem) -> EnvelopeReader? {
        guard let value = take(name) else { return nil }
        return try EnvelopeReader(value, at: pointer / name)
    }

    package mutating func choice<Value>(
        _ name: String, _ names: @autoclosure () -> [String], _ meaning: (String) -> Value?
    ) throws(Problem) -> Value? {
        guard let choice = try anyString(name) else { return nil }
        guard let known = meaning(choice) else {
            throw Problem(
                .invalidValue, "\(name) must be one of \(names().joined(separator: ", ")).", at: pointer / name)
        }
        return known
    }

    /// Refuses a member that is part of the contract but not offered by this version.
    package mutating func notYet(_ name: String) throws(Problem) {
        guard take(name) != nil else { return }
        throw Problem(.notSupported, "\(name) is not offered by this version. Leave it out.", at: pointer / name)
    }
}

extension JSONValue {
    package func anyString(at pointer: @autoclosure () -> JSONPointer) throws(Problem) -> String {
        guard let string else { throw .wrongType(self, "a string", at: pointer()) }
        return string
    }

    package func members(
        at pointer: @autoclosure () -> JSONPointer, like example: String? = nil
    ) throws(Problem) -> JSONObject {
        guard let object else {
            throw .wrongType(self, example.map { "an object such as \($0)" } ?? "an object", at: pointer())
        }
        return object
    }

    package func text(bytesMax: Int, at pointer: @autoclosure () -> JSONPointer) throws(Problem) -> String {
        let text = try anyString(at: pointer())
        guard !text.isEmpty else { throw Problem(.invalidValue, "This string must not be empty.", at: pointer()) }
        guard text.utf8.count <= bytesMax else {
            throw Problem(.valueTooLong, "This has \(text.utf8.count) bytes; the limit is \(bytesMax).", at: pointer())
        }
        return text
    }

    package func whole(_ range: ClosedRange<Int32>, at pointer: @autoclosure () -> JSONPointer) throws(Problem) -> Int32
    {
        guard number != nil else { throw .wrongType(self, "a whole number", at: pointer()) }
        guard let number = integer.flatMap(Int32.init(exactly:)), range.contains(number) else {
            throw Problem(
                .invalidValue, "This must be a whole number from \(range.lowerBound) to \(range.upperBound).",
                at: pointer())
        }
        return number
    }

    package func elements(countMax: Int, at pointer: @autoclosure () -> JSONPointer) throws(Problem) -> [JSONValue] {
        guard let elements = array else { throw .wrongType(self, "an array", at: pointer()) }
        guard elements.count <= countMax else {
            throw Problem(
                .valueTooLong, "This has \(elements.count) elements; the limit is \(countMax).", at: pointer())
        }
        return elements
    }
}

extension Problem {
    static func wrongType(_ value: JSONValue, _ expected: String, at pointer: JSONPointer) -> Problem {
        Problem(.wrongType, "This is \(value.kindName); \(expected) is expected.", at: pointer)
    }
}
