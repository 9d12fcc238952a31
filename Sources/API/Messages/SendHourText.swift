import Basis
import Calendar
import JSON
import Model

extension EnvelopeReader {
    /// Reads `send_at`, and the options that say whose clock shows it. nil means at once.
    mutating func sendHour() throws(Problem) -> SendHour? {
        let text = try anyString("send_at")
        let isLocal = try bool("device_local_time") ?? false
        let isLateSent = try choice("local_time_passed", ["suppress", "send"]) {
            ["suppress": false, "send": true][$0]
        }
        guard isLocal else {
            guard isLateSent == nil else {
                throw Problem(
                    .invalidValue, "This requires device_local_time: set that to true, or leave this out.",
                    at: pointer / "local_time_passed")
            }
            return try text.map { (text) throws(Problem) in .instant(try instant(text)) }
        }
        guard let text else {
            throw Problem(
                .missingMember,
                "send_at is missing: with device_local_time it is the local time at which each device's push is sent, "
                    + "such as \(Self.localExample).", at: pointer / "send_at")
        }
        return .local(LocalSending(hour: try localHour(text), sendsPassed: isLateSent ?? false))
    }

    private static var localExample: String { "2026-12-01T12:00:00" }

    private func instant(_ text: String) throws(Problem) -> WallInstant {
        if let instant = RFC3339.parse(text) { return instant }
        throw Problem(
            .invalidValue,
            RFC3339.parseLocal(text) == nil
                ? "This must be an RFC 3339 time, such as \(Self.localExample)Z."
                : "This time has no time zone. Add one, such as \(Self.localExample)Z or "
                    + "\(Self.localExample)+01:00; or set device_local_time, for each device's local time.",
            at: pointer / "send_at")
    }

    private func localHour(_ text: String) throws(Problem) -> LocalHour {
        if let hour = RFC3339.parseLocal(text) { return LocalHour(inUTC: hour) }
        throw Problem(
            .invalidValue,
            RFC3339.parse(text) == nil
                ? "This must be a local time, such as \(Self.localExample)."
                : "With device_local_time the time must have no time zone, because each device's own applies: "
                    + "\(Self.localExample), without Z or +01:00.", at: pointer / "send_at")
    }
}

extension Problem {
    static let localHourOfRecords = Problem(
        .notSupported,
        "A list of records is sent one record after the other, which device_local_time does not allow. Send one "
            + "message for each record.", at: .root / "options" / "device_local_time")
}
