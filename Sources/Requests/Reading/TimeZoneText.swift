import JSON
import Model

// Time zones in requests (`TimeZoneName`).
extension EnvelopeReader {
    package mutating func timeZone(_ name: String) throws(Problem) -> String? {
        guard let text = try string(name, bytesMax: TimeZoneName.bytesMax) else { return nil }
        return try Self.timeZone(text, at: pointer / name)
    }

    /// Returns the name to keep.
    static func timeZone(_ text: String, at pointer: JSONPointer) throws(Problem) -> String {
        switch TimeZoneName.read(text) {
        case .valid(let name): return name
        case .invalid(let meant): throw .notATimeZone(meant: meant, at: pointer)
        }
    }
}

extension Problem {
    /// - Parameter meant: the name that the client may have meant.
    static func notATimeZone(meant: String?, at pointer: JSONPointer) -> Problem {
        Problem(
            .invalidValue,
            "This is not a time zone. " + (meant.map { "The zone of this place is \($0). " } ?? "")
                + "A time zone is a name of IANA's list such as Europe/Paris, or an offset such as GMT+05:30.",
            at: pointer)
    }

    package static func unknownTimeZone(at pointer: JSONPointer) -> Problem {
        Problem(
            .invalidValue,
            "The gateway's database does not know this time zone. Use an IANA name such as Europe/Paris, or an "
                + "offset such as GMT+05:30.", at: pointer)
    }
}
