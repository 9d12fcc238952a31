import JSON
import Model

// Time zones in requests, which are checked by their shape alone (`TimeZoneName`).
extension EnvelopeReader {
    mutating func timeZone(_ name: String) throws(Problem) -> String? {
        guard let text = try string(name, bytesMax: TimeZoneName.bytesMax) else { return nil }
        guard TimeZoneName.isPossible(text) else { throw .notATimeZone(at: pointer / name) }
        return text
    }
}

extension Problem {
    static func notATimeZone(at pointer: JSONPointer) -> Problem {
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
