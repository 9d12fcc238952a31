/// The hours of the day in which an app's people are left alone, by the clock on each one's wall.
///
/// They begin with the minute `from` and are over with the minute `to`, of the next day where that comes first.
package struct QuietHours: Equatable, Sendable {
    /// Minutes after midnight.
    package let from: Int
    package let to: Int

    /// nil: they would last a whole day, or no time at all.
    package init?(from: Int, to: Int) {
        precondition((0..<1_440).contains(from) && (0..<1_440).contains(to))
        guard from != to else { return nil }
        self.from = from
        self.to = to
    }

    /// Minutes after midnight, of "07:30"; nil where it is written otherwise.
    package static func minute(of text: String) -> Int? {
        let bytes = Array(text.utf8)
        guard bytes.count == 5, bytes[2] == UInt8(ascii: ":") else { return nil }
        let digits = [0, 1, 3, 4].map { Int(bytes[$0]) - Int(UInt8(ascii: "0")) }
        guard digits.allSatisfy((0...9).contains) else { return nil }
        let (hour, minute) = (digits[0] * 10 + digits[1], digits[2] * 10 + digits[3])
        return hour < 24 && minute < 60 ? hour * 60 + minute : nil
    }

    package static func text(of minute: Int) -> String {
        [minute / 60, minute % 60].map { ($0 < 10 ? "0" : "") + String($0) }.joined(separator: ":")
    }
}

/// How many messages a person gets on one day of the app's clock.
package enum DailyCap {
    /// More is no cap. Whose they were is kept for the day, so that it is a limit for the row too.
    package static let max: Int32 = 100
}

/// What an app may set to spare its people. The numbers stand in the database.
package struct AppLimits: OptionSet, Hashable, Sendable {
    package let rawValue: Int16
    package init(rawValue: Int16) { self.rawValue = rawValue }

    package static let quietHours = AppLimits(rawValue: 1)
    package static let dailyCap = AppLimits(rawValue: 2)
}
