import JSON
import Model

// Time zones in requests, which are checked by their shape alone (`TimeZoneName`).
extension EnvelopeReader {
    mutating func timeZone(_ name: String) throws(Problem) -> String? {
        guard let text = try string(name, bytesMax: TimeZoneName.bytesMax) else { return nil }
        guard TimeZoneName.isPossible(text) else { throw .notATimeZone(at: pointer / name) }
        return text
    }

    /// Reads a change: absence keeps the time zone, null clears it.
    mutating func timeZoneChange(_ name: String) throws(Problem) -> DeviceRegistration.Change<String> {
        guard let value = peek(name), !value.isNull else { return try change(name, bytesMax: 0) { _ in false } }
        return try timeZone(name).map { .set($0) } ?? .clear
    }
}

extension Problem {
    fileprivate static func notATimeZone(at pointer: JSONPointer) -> Problem {
        Problem(
            .invalidValue, "A time zone is a name such as Europe/Paris, or an offset such as GMT+05:30.", at: pointer)
    }

    static func unknownTimeZone(at pointer: JSONPointer) -> Problem {
        Problem(
            .invalidValue,
            "The gateway's database does not know this time zone. Use an IANA name such as Europe/Paris, or an "
                + "offset such as GMT+05:30.", at: pointer)
    }
}
