import JSON
import Model

/// The body of `PATCH /v1/apps/{app}/messages/{message}`, and the option `rate_per_second` of a message.
package enum RateRequest {
    static let perSecond: ClosedRange<Int32> = 1...MessageRate.perSecondMax

    /// Returns the pushes a second; nil for as fast as the providers take them.
    package static func read(_ body: [UInt8]) throws(Problem) -> Int32? {
        var reader = try EnvelopeReader(body: body)
        let input = reader.takeAny("rate_per_second")
        try reader.end()
        guard let value = input else {
            throw Problem(
                .missingMember,
                "rate_per_second is missing: give the pushes per second, or null for as many as the providers take.",
                at: .root / "rate_per_second")
        }
        return value.isNull ? nil : try value.whole(perSecond, at: reader.pointer / "rate_per_second")
    }
}
