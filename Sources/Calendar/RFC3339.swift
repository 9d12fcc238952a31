import Basis

/// Instants in the format of our API: "2026-12-01T12:00:03.120Z". Source: RFC 3339.
package enum RFC3339 {
    /// Accepts any offset. Cuts a fraction to microseconds. A leap second counts as the next second. Returns nil for
    /// anything else, including a date that does not exist.
    package static func parse(_ text: some StringProtocol) -> WallInstant? {
        var scanner = TextScanner(text)
        guard let time = civilTime(&scanner), let offsetMinutes = offset(&scanner), scanner.isAtEnd else { return nil }
        return time.instant(offsetMinutes: offsetMinutes)
    }

    /// Parses a time without an offset, "2026-12-01T12:00:00", as in UTC; nil for anything else.
    package static func parseLocal(_ text: some StringProtocol) -> WallInstant? {
        var scanner = TextScanner(text)
        guard let time = civilTime(&scanner), scanner.isAtEnd else { return nil }
        return time.instant()
    }

    private static func civilTime(_ scanner: inout TextScanner) -> CivilTime? {
        guard let year = scanner.number(digits: 4), scanner.take("-"),
            let month = scanner.number(digits: 2), scanner.take("-"),
            let day = scanner.number(digits: 2),
            let date = CivilDate(year: year, month: month, day: day),
            let separator = scanner.takeAny(), separator == UInt8(ascii: "T") || separator == UInt8(ascii: "t"),
            let hour = scanner.number(digits: 2), scanner.take(":"),
            let minute = scanner.number(digits: 2), scanner.take(":"),
            let second = scanner.number(digits: 2),
            let microsecond = fraction(&scanner)
        else { return nil }
        return CivilTime(date: date, hour: hour, minute: minute, second: second, microsecond: microsecond)
    }

    /// Formats in UTC with three digits of a second, or six if needed. Clamped to the years 0 to 9999.
    package static func format(_ instant: WallInstant) -> String {
        let time = CivilTime(instant)
        var text: [UInt8] = []
        text.reserveCapacity(27)
        func append(_ number: Int, _ digits: Int, _ mark: Unicode.Scalar) {
            Calendar.append(number, digits: digits, to: &text)
            text.append(UInt8(ascii: mark))
        }
        append(time.date.year, 4, "-")
        append(time.date.month, 2, "-")
        append(time.date.day, 2, "T")
        append(time.hour, 2, ":")
        append(time.minute, 2, ":")
        append(time.second, 2, ".")
        let isMilliseconds = time.microsecond.isMultiple(of: 1_000)
        append(isMilliseconds ? time.microsecond / 1_000 : time.microsecond, isMilliseconds ? 3 : 6, "Z")
        return String(decoding: text, as: UTF8.self)
    }

    /// Formats as `parseLocal` reads it, without a fraction of zero.
    package static func formatLocal(_ instant: WallInstant) -> String {
        let text = format(instant).dropLast()
        return String(text.hasSuffix(".000") ? text.dropLast(4) : text)
    }

    /// The microseconds; 0 without a fraction, nil for a point without digits.
    private static func fraction(_ scanner: inout TextScanner) -> Int? {
        guard scanner.take(".") else { return 0 }
        guard var microsecond = scanner.takeDigit() else { return nil }
        var digits = 1
        while let digit = scanner.takeDigit() {
            if digits < 6 { microsecond = microsecond * 10 + digit }
            digits += 1
        }
        while digits < 6 {
            microsecond *= 10
            digits += 1
        }
        return microsecond
    }

    private static func offset(_ scanner: inout TextScanner) -> Int? {
        switch scanner.takeAny() {
        case UInt8(ascii: "Z"), UInt8(ascii: "z"): return 0
        case UInt8(ascii: "+"): return clock(&scanner)
        case UInt8(ascii: "-"): return clock(&scanner).map { -$0 }
        default: return nil
        }
    }

    private static func clock(_ scanner: inout TextScanner) -> Int? {
        guard let hours = scanner.number(digits: 2), hours <= 23, scanner.take(":"),
            let minutes = scanner.number(digits: 2), minutes <= 59
        else { return nil }
        return hours * 60 + minutes
    }
}
