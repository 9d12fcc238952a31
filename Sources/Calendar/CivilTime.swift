import Basis

/// A date and a time of day in UTC.
struct CivilTime: Equatable {
    let date: CivilDate
    let hour: Int
    let minute: Int
    /// The second. 60 is a leap second, which counts as the first second of the next minute.
    let second: Int
    let microsecond: Int

    init?(date: CivilDate, hour: Int, minute: Int, second: Int, microsecond: Int = 0) {
        guard (0...23).contains(hour), (0...59).contains(minute), (0...60).contains(second),
            (0...999_999).contains(microsecond)
        else { return nil }
        (self.date, self.hour, self.minute, self.second, self.microsecond) = (date, hour, minute, second, microsecond)
    }

    /// Clamps instants outside the years 0 to 9999, which our texts can't express.
    init(_ exact: WallInstant) {
        let instant = min(max(exact, Self.earliest), Self.latest)
        let seconds = Int(instant.secondsSince1970)
        var days = seconds / 86_400
        if seconds % 86_400 < 0 { days -= 1 }
        let ofDay = seconds - days * 86_400
        date = CivilDate(daysSince1970: days)
        hour = ofDay / 3_600
        minute = ofDay / 60 % 60
        second = ofDay % 60
        microsecond = Int((instant.microseconds % 1_000_000 + 1_000_000) % 1_000_000)
    }

    private static let earliest = WallInstant(secondsSince1970: -62_167_219_200)
    private static let latest = WallInstant(microseconds: 253_402_300_799_999_999)

    /// The instant of this time. `offsetMinutes` is how far the local clock is ahead of UTC.
    func instant(offsetMinutes: Int = 0) -> WallInstant? {
        let seconds = date.daysSince1970 * 86_400 + hour * 3_600 + (minute - offsetMinutes) * 60 + second
        let (micros, isOver) = Int64(seconds).multipliedReportingOverflow(by: 1_000_000)
        let (sum, isOverStill) = micros.addingReportingOverflow(Int64(microsecond))
        return isOver || isOverStill ? nil : WallInstant(microseconds: sum)
    }
}

/// Reads fixed patterns from ASCII text, from left to right.
struct TextScanner {
    private var remaining: ArraySlice<UInt8>

    init(_ text: some StringProtocol) { remaining = Array(text.utf8)[...] }

    var isAtEnd: Bool { remaining.isEmpty }

    mutating func take(_ literal: StaticString) -> Bool {
        let wanted = literal.description.utf8
        guard remaining.starts(with: wanted) else { return false }
        remaining = remaining.dropFirst(wanted.count)
        return true
    }

    mutating func takeAny() -> UInt8? { remaining.popFirst() }

    mutating func number(digits: Int) -> Int? {
        guard remaining.count >= digits else { return nil }
        var number = 0
        for _ in 0..<digits {
            guard let digit = takeDigit() else { return nil }
            number = number * 10 + digit
        }
        return number
    }

    mutating func takeDigit() -> Int? {
        guard let byte = remaining.first, byte.isDigit else { return nil }
        remaining = remaining.dropFirst()
        return Int(byte - UInt8(ascii: "0"))
    }

    /// Reads one of the names and returns its index.
    mutating func name(of names: [StaticString]) -> Int? {
        for (index, name) in names.enumerated() where take(name) { return index }
        return nil
    }
}

/// Appends `number` with leading zeros.
func append(_ number: Int, digits: Int, to text: inout [UInt8]) {
    var divisor = 1
    for _ in 1..<digits { divisor *= 10 }
    while divisor > 0 {
        text.append(UInt8(ascii: "0") + UInt8(number / divisor % 10))
        divisor /= 10
    }
}
