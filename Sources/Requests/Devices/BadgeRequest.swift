import JSON
import Model

package enum BadgeRequest {
    package static func readBadge(_ body: [UInt8]) throws(Problem) -> Int32 {
        try readNumber("badge", 0...Int32.max, "the number on the app's icon", body)
    }

    package static func readCount(_ body: [UInt8]) throws(Problem) -> Int32 {
        try readNumber("count", 1...Int32.max, "how much to subtract from the badge", body)
    }

    private static func readNumber(
        _ name: String, _ range: ClosedRange<Int32>, _ meaning: String, _ body: [UInt8]
    ) throws(Problem) -> Int32 {
        var reader = try EnvelopeReader(body: body)
        let number = try reader.required(name, meaning).whole(range, at: reader.pointer / name)
        try reader.end()
        return number
    }
}

/// The body of `POST .../badges`.
package struct TokenBadgeRequest: Sendable {
    package enum Change: Sendable {
        case set(Int32)
        case consume(Int32)
    }

    /// The tokens that the text may be, each with its provider.
    package let readings: [(Provider, DeviceToken)]
    package let change: Change

    package static func read(_ body: [UInt8]) throws(Problem) -> TokenBadgeRequest {
        var reader = try EnvelopeReader(body: body)
        let provider = try reader.offeredProvider()
        let token = try reader.required("token", "the device token, as its provider writes it")
        let readings = try TokenText.readings(token, of: provider, at: .root / "token")
        let badge = try reader.integer("badge", 0...Int32.max)
        let count = try reader.integer("consume", 1...Int32.max)
        try reader.end()
        switch (badge, count) {
        case (let badge?, nil): return TokenBadgeRequest(readings: readings, change: .set(badge))
        case (nil, let count?): return TokenBadgeRequest(readings: readings, change: .consume(count))
        case (nil, nil):
            throw Problem(
                .missingMember, "badge (the number to set) or consume (how much to subtract) is missing.",
                at: .root / "badge")
        case (_?, _?):
            throw Problem(
                .invalidValue, "Give either badge (the number to set) or consume (how much to subtract), not both.",
                at: .root / "consume")
        }
    }
}
