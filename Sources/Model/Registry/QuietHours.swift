/// The hours of the day in which an app's users get no pushes, by each device's local time.
///
/// They begin with the minute `from` and end with the minute `to`, on the next day if `to` is earlier.
package struct QuietHours: Equatable, Sendable {
    /// The beginning, in minutes after midnight.
    package let from: Int
    package let to: Int

    /// Returns nil if both are equal.
    package init?(from: Int, to: Int) {
        precondition((0..<1_440).contains(from) && (0..<1_440).contains(to))
        guard from != to else { return nil }
        (self.from, self.to) = (from, to)
    }

    /// The minutes after midnight of a text like "07:30"; nil for any other format.
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

/// The number of messages that a user gets on one day of the app's clock.
package enum DailyCap {
    /// A higher cap limits nothing. The row of the day lists its messages, so this bounds the row's size too.
    package static let max: Int32 = 100
}

/// The limits with which an app protects its users. The numbers are stored in the database.
package struct AppLimits: OptionSet, Hashable, Sendable {
    package let rawValue: Int16
    package init(rawValue: Int16) { self.rawValue = rawValue }

    package static let quietHours = AppLimits(rawValue: 1)
    package static let dailyCap = AppLimits(rawValue: 2)
    package static let all: AppLimits = [.quietHours, .dailyCap]
}
