import Basis

/// A number in a trigger, with the type that Java gives it.
enum JavaNumber {
    /// An `int` or a `long`. Two of these are compared exactly.
    case integer(Int64)
    /// A `double`: finite.
    case double(Double)

    /// The number as Java converts it for a comparison with a double: the nearest one.
    var double: Double {
        switch self {
        case .integer(let integer): Double(integer)
        case .double(let double): double
        }
    }

    /// Reads a literal: an `int`, a `long` with an `L`, or a `double`.
    ///
    /// Source: Java Language Specification, sections 3.10.1 and 3.10.2.
    /// - Parameter text: without its sign.
    /// - Parameter isNegative: Java's integers have one number more below zero than above.
    static func literal(_ text: String, isNegative: Bool) throws(LiteralFlaw) -> JavaNumber {
        guard let decimal = JavaDecimal(Array(text.utf8)[...]) else { throw .form }
        let isLong = decimal.hasSuffix("lL")
        guard isLong || decimal.suffix == nil || decimal.hasSuffix("dD") else { throw .form }
        if isLong || decimal.isInteger && decimal.suffix == nil {
            // A zero before other digits makes the number octal in Java.
            guard decimal.isInteger, decimal.whole.count == 1 || decimal.whole.first != UInt8(ascii: "0") else {
                throw .form
            }
            let digits = (isNegative ? "-" : "") + String(decoding: decimal.whole, as: UTF8.self)
            guard let integer = isLong ? Int64(digits) : Int32(digits).map({ Int64($0) }) else { throw .range }
            return .integer(integer)
        }
        guard let size = decimal.double, size.isFinite, size != 0 || decimal.isZero else { throw .range }
        return .double(isNegative ? -size : size)
    }

    enum LiteralFlaw: Error {
        case form
        case range
    }
}

/// Digits with an optional point, an optional exponent and an optional letter for the type: `1.5e3d`. It has no sign.
///
/// Source: Java Language Specification, section 3.10.2, DecimalFloatingPointLiteral; and Double.valueOf.
struct JavaDecimal {
    /// The digits before the point. They or those of the fraction may be missing, but not both.
    let whole: ArraySlice<UInt8>
    private let fraction: ArraySlice<UInt8>
    private let hasPoint: Bool
    /// The sign and digits of the exponent; empty: it has none.
    private let exponent: String
    let suffix: UInt8?

    init?(_ bytes: ArraySlice<UInt8>) {
        var remaining = bytes
        whole = Self.takeDigits(&remaining)
        hasPoint = remaining.first == UInt8(ascii: ".")
        if hasPoint { remaining = remaining.dropFirst() }
        fraction = hasPoint ? Self.takeDigits(&remaining) : []
        guard !whole.isEmpty || !fraction.isEmpty else { return nil }
        var exponent = ""
        if let mark = remaining.first, mark | 0x20 == UInt8(ascii: "e") {
            remaining = remaining.dropFirst()
            if let sign = remaining.first, sign == UInt8(ascii: "-") || sign == UInt8(ascii: "+") {
                if sign == UInt8(ascii: "-") { exponent = "-" }
                remaining = remaining.dropFirst()
            }
            let digits = Self.takeDigits(&remaining)
            guard !digits.isEmpty else { return nil }
            exponent += String(decoding: digits, as: UTF8.self)
        }
        self.exponent = exponent
        suffix = remaining.first
        guard remaining.count <= 1, suffix == nil || hasSuffix("fFdDlL") else { return nil }
    }

    private static func takeDigits(_ remaining: inout ArraySlice<UInt8>) -> ArraySlice<UInt8> {
        let digits = remaining.prefix(while: \.isDigit)
        remaining = remaining[digits.endIndex...]
        return digits
    }

    func hasSuffix(_ letters: String) -> Bool {
        guard let suffix else { return false }
        return letters.utf8.contains(suffix)
    }

    /// Whether it has neither a point nor an exponent.
    var isInteger: Bool { !hasPoint && exponent.isEmpty }

    /// Whether the number is zero before it is rounded.
    var isZero: Bool { (whole + fraction).allSatisfy { $0 == UInt8(ascii: "0") } }

    /// The nearest double; infinite beyond its range.
    var double: Double? {
        func text(_ digits: ArraySlice<UInt8>) -> String {
            digits.isEmpty ? "0" : String(decoding: digits, as: UTF8.self)
        }
        return Double("\(text(whole)).\(text(fraction))e\(exponent.isEmpty ? "0" : exponent)")
    }
}

/// Java's functions that read a number from the text of a field.
package enum NumberConversion: String, CaseIterable, Sendable {
    /// Takes decimal numbers, between blanks and control characters of ASCII, also with a final `d` or `f`.
    ///
    /// `NaN`, infinities, numbers that round to infinity, and hexadecimal numbers fail, although Java takes them. So
    /// each number has its place among the thresholds.
    /// Source: Double.valueOf, with String.trim.
    case double = "Double.parseDouble"
    /// Takes digits with an optional sign, in the range of 32 bits, and nothing around them.
    ///
    /// Digits are those of ASCII. Java takes the digits of other scripts too; here they fail, as in
    /// `Double.parseDouble`.
    /// Source: Integer.parseInt.
    case integer = "Integer.parseInt"

    /// Returns the number in a field's text, as a double; nil: the conversion fails.
    package func number(_ text: String) -> Double? { value(text)?.double }

    func value(_ text: String) -> JavaNumber? {
        switch self {
        case .double: Self.finiteDouble(text).map { .double($0) }
        case .integer: Int32(text).map { .integer(Int64($0)) }
        }
    }

    private static func finiteDouble(_ text: String) -> Double? {
        var bytes = Array(text.utf8)[...]
        bytes = bytes.drop { $0 <= 0x20 }
        while let last = bytes.last, last <= 0x20 { bytes = bytes.dropLast() }
        let isNegative = bytes.first == UInt8(ascii: "-")
        if isNegative || bytes.first == UInt8(ascii: "+") { bytes = bytes.dropFirst() }
        guard let decimal = JavaDecimal(bytes), !decimal.hasSuffix("lL") else { return nil }
        guard let size = decimal.double, size.isFinite else { return nil }
        return isNegative ? -size : size
    }
}
