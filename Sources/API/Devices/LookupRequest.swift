import JSON
import Model
import Requests
import Store

/// The body of `POST .../devices/lookup`.
enum LookupRequest {
    /// The most tokens of one lookup: as many as a page of a list has items.
    static let tokensMax = 1_000

    static func read(_ body: [UInt8]) throws(Problem) -> (count: Int, readings: [TokenReading]) {
        var reader = try EnvelopeReader(body: body)
        let provider = try reader.offeredProvider()
        let one = reader.take("token")
        let many = try reader.array("tokens", countMax: tokensMax)
        try reader.end()
        guard (one == nil) != (many == nil) else {
            let isMissing = one == nil
            throw Problem(
                isMissing ? .missingMember : .invalidValue,
                "Give either token (one device token, as its provider writes it) or tokens (an array of them).",
                at: .root / (isMissing ? "token" : "tokens"))
        }
        var readings: [TokenReading] = []
        for (place, value) in (many ?? one.map { [$0] } ?? []).enumerated() {
            let pointer: JSONPointer = many == nil ? .root / "token" : .root / "tokens" / place
            for (provider, token) in try TokenText.readings(value, of: provider, at: pointer) {
                readings.append(TokenReading(place: place, provider: provider, token: token))
            }
        }
        return (many?.count ?? 1, readings)
    }
}
