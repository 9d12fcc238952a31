import Basis

/// Instants in the format of HTTP headers. Source: RFC 9110, section 5.6.7.
package enum HTTPDate {
    private static let weekdays: [StaticString] = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
    private static let longWeekdays: [StaticString] = [
        "Sunday", "Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday",
    ]
    private static let months: [StaticString] = [
        "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
    ]

    /// Parses "Sun, 06 Nov 1994 08:49:37 GMT" and the two older formats. `now` decides the century of two-digit years.
    ///
    /// A wrong day of the week is ignored: the date is enough.
    package static func parse(_ text: some StringProtocol, now: WallInstant) -> WallInstant? {
        fixed(TextScanner(text)) ?? obsolete(TextScanner(text), now) ?? asctime(TextScanner(text))
    }

    package static func format(_ instant: WallInstant) -> String {
        let time = CivilTime(instant)
        var text = Array(weekdays[time.date.weekday].description.utf8)
        text.append(contentsOf: ", ".utf8)
        append(time.date.day, digits: 2, to: &text)
        text.append(contentsOf: " \(months[time.date.month - 1]) ".utf8)
        append(time.date.year, digits: 4, to: &text)
        for (part, mark) in [(time.hour, " "), (time.minute, ":"), (time.second, ":")] {
            text.append(contentsOf: mark.utf8)
            append(part, digits: 2, to: &text)
        }
        text.append(contentsOf: " GMT".utf8)
        return String(decoding: text, as: UTF8.self)
    }

    /// Parses "Sun, 06 Nov 1994 08:49:37 GMT".
    private static func fixed(_ start: TextScanner) -> WallInstant? {
        var scanner = start
        guard scanner.name(of: weekdays) != nil, scanner.take(", "),
            let day = scanner.number(digits: 2), scanner.take(" "),
            let month = scanner.name(of: months), scanner.take(" "),
            let year = scanner.number(digits: 4), scanner.take(" "),
            let time = timeOfDay(&scanner), scanner.take(" GMT"), scanner.isAtEnd
        else { return nil }
        return instant(year, month, day, time)
    }

    /// Parses "Sunday, 06-Nov-94 08:49:37 GMT".
    private static func obsolete(_ start: TextScanner, _ now: WallInstant) -> WallInstant? {
        var scanner = start
        guard scanner.name(of: longWeekdays) != nil, scanner.take(", "),
            let day = scanner.number(digits: 2), scanner.take("-"),
            let month = scanner.name(of: months), scanner.take("-"),
            let shortYear = scanner.number(digits: 2), scanner.take(" "),
            let time = timeOfDay(&scanner), scanner.take(" GMT"), scanner.isAtEnd
        else { return nil }
        // A year more than 50 years ahead means the past year with the same digits.
        let thisYear = CivilTime(now).date.year
        let year = thisYear / 100 * 100 + shortYear
        return instant(year > thisYear + 50 ? year - 100 : year, month, day, time)
    }

    /// Parses "Sun Nov  6 08:49:37 1994".
    private static func asctime(_ start: TextScanner) -> WallInstant? {
        var scanner = start
        guard scanner.name(of: weekdays) != nil, scanner.take(" "),
            let month = scanner.name(of: months), scanner.take(" "),
            let day = scanner.take(" ") ? scanner.takeDigit() : scanner.number(digits: 2), scanner.take(" "),
            let time = timeOfDay(&scanner), scanner.take(" "),
            let year = scanner.number(digits: 4), scanner.isAtEnd
        else { return nil }
        return instant(year, month, day, time)
    }

    private static func timeOfDay(_ scanner: inout TextScanner) -> (hour: Int, minute: Int, second: Int)? {
        guard let hour = scanner.number(digits: 2), scanner.take(":"),
            let minute = scanner.number(digits: 2), scanner.take(":"),
            let second = scanner.number(digits: 2)
        else { return nil }
        return (hour, minute, second)
    }

    private static func instant(
        _ year: Int, _ monthIndex: Int, _ day: Int, _ time: (hour: Int, minute: Int, second: Int)
    ) -> WallInstant? {
        guard let date = CivilDate(year: year, month: monthIndex + 1, day: day) else { return nil }
        return CivilTime(date: date, hour: time.hour, minute: time.minute, second: time.second)?.instant()
    }
}

/// The `Retry-After` header: seconds, or a date. Source: RFC 9110, section 10.2.3.
package enum RetryAfter {
    /// A longer wait is the server's mistake, and a push that obeyed it would expire.
    package static let waitMax: Duration = .seconds(86_400)

    /// Returns nil for anything else, for more than `waitMax`, and for a date in the past. Our clock may be ahead, and
    /// a server has no reason to ask for no wait with a date.
    package static func parse(_ value: some StringProtocol, now: WallInstant) -> Duration? {
        if !value.isEmpty, value.utf8.allSatisfy(\.isDigit) {
            guard let seconds = Int64(value), seconds <= waitMax.components.seconds else { return nil }
            return .seconds(seconds)
        }
        guard let date = HTTPDate.parse(value, now: now), date > now, date - now <= waitMax else { return nil }
        return date - now
    }
}
