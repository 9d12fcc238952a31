import Basis
import JSON

/// An exact decimal number. PostgreSQL compares JSON numbers in the same way: 1, 1.0 and 10e-1 are one number.
package struct DecimalNumber: Equatable, Sendable {
    private let isNegative: Bool
    /// Without leading and trailing zeros; empty for zero.
    private let digits: [UInt8]
    /// The decimal point's position: the value is 0.digits times ten to this power.
    private let exponent: Int

    /// The largest exponent that is parsed: far more than any that is stored.
    private static let exponentMax = 1_000_000

    /// The integer times ten to the power.
    package init(_ integer: Int64, power: Int = 0) {
        let digits = String(integer.magnitude).utf8.map { $0 - UInt8(ascii: "0") }
        self.init(isNegative: integer < 0, digits: digits, -power)
    }

    /// - Parameter point: the number of digits after the point, adjusted by the exponent.
    private init(isNegative: Bool, digits all: [UInt8], _ point: Int) {
        let first = all.firstIndex { $0 != 0 } ?? all.count
        let end = (all.lastIndex { $0 != 0 } ?? -1) + 1
        digits = first < end ? Array(all[first..<end]) : []
        exponent = digits.isEmpty ? 0 : all.count - point - first
        self.isNegative = isNegative && !digits.isEmpty
    }

    /// nil: not a JSON number.
    package init?(_ text: String) {
        var remaining = text.utf8[...]
        let isNegative = remaining.first == UInt8(ascii: "-")
        if isNegative { remaining.removeFirst() }
        var digits = Self.takeDigits(&remaining)
        guard !digits.isEmpty else { return nil }
        var point = 0
        if remaining.first == UInt8(ascii: ".") {
            remaining.removeFirst()
            let fraction = Self.takeDigits(&remaining)
            guard !fraction.isEmpty else { return nil }
            digits += fraction
            point = fraction.count
        }
        if let mark = remaining.first, mark | 0x20 == UInt8(ascii: "e") {
            guard let power = Int(Substring(remaining.dropFirst())), power.magnitude <= Self.exponentMax else {
                return nil
            }
            point -= power
            remaining = remaining.suffix(0)
        }
        guard remaining.isEmpty else { return nil }
        self.init(isNegative: isNegative, digits: digits, point)
    }

    /// nil: the exponent is beyond the range that is parsed.
    package init?(_ number: JSONNumber) {
        switch number {
        case .whole(let integer): self.init(integer)
        case .literal(let text): self.init(text)
        }
    }

    private static func takeDigits(_ remaining: inout Substring.UTF8View) -> [UInt8] {
        let digits = remaining.prefix(while: \.isDigit)
        remaining = remaining[digits.endIndex...]
        return digits.map { $0 - UInt8(ascii: "0") }
    }

    /// Plain digits, without an exponent. The text grows with the number's distance from one.
    package var text: String {
        if digits.isEmpty { return "0" }
        var bytes: [UInt8] = isNegative ? [UInt8(ascii: "-")] : []
        if exponent <= 0 { bytes += "0.".utf8 + Array(repeating: UInt8(ascii: "0"), count: -exponent) }
        for (place, digit) in digits.enumerated() {
            if place == exponent, place > 0 { bytes.append(UInt8(ascii: ".")) }
            bytes.append(UInt8(ascii: "0") + digit)
        }
        if exponent > digits.count { bytes += Array(repeating: UInt8(ascii: "0"), count: exponent - digits.count) }
        return String(decoding: bytes, as: UTF8.self)
    }
}

extension DecimalNumber: Comparable {
    package static func < (left: DecimalNumber, right: DecimalNumber) -> Bool {
        if left.isNegative != right.isNegative { return left.isNegative }
        return left.isNegative ? right.isCloserToZero(than: left) : left.isCloserToZero(than: right)
    }

    private func isCloserToZero(than other: DecimalNumber) -> Bool {
        if digits.isEmpty || other.digits.isEmpty { return digits.isEmpty && !other.digits.isEmpty }
        if exponent != other.exponent { return exponent < other.exponent }
        return digits.lexicographicallyPrecedes(other.digits)
    }
}
