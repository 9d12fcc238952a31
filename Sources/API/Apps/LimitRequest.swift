import JSON
import Model
import Requests
import Store

// The limits that an app sets for its users.
extension EnvelopeReader {
    /// Reads changes of limits: absence keeps a limit, null removes it.
    mutating func limits() throws(Problem) -> AppLimitChange {
        var change = AppLimitChange()
        if let value = takeAny("quiet_hours") {
            change.quietHours = value.isNull ? .clear : .set(try Self.quietHours(value, at: pointer / "quiet_hours"))
        }
        if let value = takeAny("daily_cap") {
            let cap = try value.isNull ? nil : value.whole(1...DailyCap.max, at: pointer / "daily_cap")
            change.dailyCap = cap.map { .set($0) } ?? .clear
        }
        return change
    }

    private static func quietHours(_ value: JSONValue, at pointer: JSONPointer) throws(Problem) -> QuietHours {
        var reader = try EnvelopeReader(value, at: pointer)
        let from = try reader.minute("from", "when the quiet hours begin, such as 22:00")
        let to = try reader.minute("to", "when the quiet hours end, such as 07:30")
        try reader.end()
        guard let hours = QuietHours(from: from, to: to) else {
            throw Problem(
                .invalidValue,
                "Quiet hours must end at another minute than they begin: from \(QuietHours.text(of: from)) to "
                    + "\(QuietHours.text(of: to)) is ambiguous (all day or never).", at: pointer / "to")
        }
        return hours
    }

    private mutating func minute(_ name: String, _ meaning: String) throws(Problem) -> Int {
        let text = try required(name, meaning).anyString(at: pointer / name)
        guard let minute = QuietHours.minute(of: text) else {
            throw Problem(
                .invalidValue, "This must be a time of day from 00:00 to 23:59, such as 07:30.", at: pointer / name)
        }
        return minute
    }
}
