import Basis
import Calendar
import JSON
import Model

/// Reads `send_at`: an instant, or a local time of each device.
package enum SendHourText {
    private static let localExample = "2026-12-01T12:00:00"

    package static func instant(_ text: String, at pointer: JSONPointer) throws(Problem) -> WallInstant {
        if let instant = RFC3339.parse(text) { return instant }
        throw Problem(
            .invalidValue,
            RFC3339.parseLocal(text) == nil
                ? "This must be an RFC 3339 time, such as \(localExample)Z."
                : "This time has no time zone. Add one, such as \(localExample)Z or "
                    + "\(localExample)+01:00; or set device_local_time, for each device's local time.", at: pointer)
    }

    package static func localHour(_ text: String, at pointer: JSONPointer) throws(Problem) -> LocalHour {
        if let hour = RFC3339.parseLocal(text) { return LocalHour(inUTC: hour) }
        throw Problem(
            .invalidValue,
            RFC3339.parse(text) == nil
                ? "This must be a local time, such as \(localExample)."
                : "With device_local_time the time must have no time zone, because each device's own applies: "
                    + "\(localExample), without Z or +01:00.", at: pointer)
    }

    static func missing(at pointer: JSONPointer) -> Problem {
        Problem(
            .missingMember,
            "send_at is missing: with device_local_time it is the local time at which each device's push is sent, "
                + "such as \(localExample).", at: pointer)
    }
}

extension EnvelopeReader {
    /// Reads `send_at`, and the options that say whose clock shows it. nil means at once.
    mutating func sendHour() throws(Problem) -> SendHour? {
        let text = try anyString("send_at")
        let isLocal = try bool("device_local_time") ?? false
        let isLateSent = try choice("local_time_passed", ["suppress", "send"]) {
            ["suppress": false, "send": true][$0]
        }
        let place = pointer / "send_at"
        guard isLocal else {
            guard isLateSent == nil else {
                throw Problem(
                    .invalidValue, "This requires device_local_time: set that to true, or leave this out.",
                    at: pointer / "local_time_passed")
            }
            return try text.map { (text) throws(Problem) in .instant(try SendHourText.instant(text, at: place)) }
        }
        guard let text else { throw SendHourText.missing(at: place) }
        let hour = try SendHourText.localHour(text, at: place)
        return .local(LocalSending(hour: hour, sendsPassed: isLateSent ?? false))
    }
}

extension Problem {
    static let localHourOfRecords = Problem(
        .notSupported,
        "A list of records is sent one record after the other, which device_local_time does not allow. Send one "
            + "message for each record.", at: .root / "options" / "device_local_time")
}
