import Basis
import Calendar
import JSON

extension EnvelopeReader {
    /// Takes a time in the future, such as the end of a key.
    /// - Parameter consequence: the meaning of a time that has passed, as the end of a sentence.
    mutating func futureInstant(
        _ name: String, now: WallInstant, _ consequence: String
    ) throws(Problem) -> WallInstant? {
        guard let text = try string(name, bytesMax: 64) else { return nil }
        guard let instant = RFC3339.parse(text) else {
            throw Problem(.invalidValue, "This must be an instant such as 2027-01-31T12:00:00Z.", at: pointer / name)
        }
        guard instant > now else {
            throw Problem(.invalidValue, "This time has passed: \(consequence).", at: pointer / name)
        }
        return instant
    }
}
