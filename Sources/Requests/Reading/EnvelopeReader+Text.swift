import Basis
import JSON

// Values that may also be given as their text: apps on devices often hold settings as texts.
extension EnvelopeReader {
    /// Takes `true` or `false`, also as text.
    mutating func boolOrText(_ name: String) throws(Problem) -> Bool? {
        guard let value = take(name) else { return nil }
        if let claim = value.bool { return claim }
        guard let text = value.string else { throw .wrongType(value, "true or false", at: pointer / name) }
        guard let claim = Bool(text) else {
            throw Problem(.invalidValue, "This text must be \"true\" or \"false\".", at: pointer / name)
        }
        return claim
    }

    /// Takes a whole number, also as text.
    mutating func integerOrText(_ name: String, _ range: ClosedRange<Int32>) throws(Problem) -> Int32? {
        guard let value = take(name) else { return nil }
        return try value.wholeOrText(range, at: pointer / name)
    }
}

extension JSONValue {
    /// Returns a whole number, also from its digits as text.
    func wholeOrText(_ range: ClosedRange<Int32>, at pointer: JSONPointer) throws(Problem) -> Int32 {
        guard let text = string, !text.isEmpty, text.utf8.allSatisfy(\.isDigit), let number = Int64(text) else {
            return try whole(range, at: pointer)
        }
        return try JSONValue.number(.whole(number)).whole(range, at: pointer)
    }
}
