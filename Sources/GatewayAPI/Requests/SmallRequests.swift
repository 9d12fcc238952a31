import JSON
import PushModel
import Store

/// The body of `POST /v1/apps`.
package struct AppRequest: Equatable, Sendable {
    static let slugBytesMax = 63
    static let nameBytesMax = 256

    package let slug: String
    package let name: String

    package static func read(_ body: [UInt8]) throws(Problem) -> AppRequest {
        var reader = try EnvelopeReader(body: body)
        let slug = try reader.requiredString("slug", bytesMax: slugBytesMax, "the app's name in URLs")
        guard isSlug(slug) else {
            throw Problem(
                .invalidValue,
                "A slug has 1 to \(slugBytesMax) of a-z, 0-9, - and _, and begins with a letter or digit.",
                at: .root / "slug")
        }
        let name = try reader.requiredString("name", bytesMax: nameBytesMax, "the app's name for people")
        guard RegistrationRequest.isText(name) else { throw .controlCharacters(at: .root / "name") }
        try reader.end()
        return AppRequest(slug: slug, name: name)
    }

    /// As the database asks for it.
    static func isSlug(_ text: String) -> Bool {
        guard let first = text.utf8.first, text.utf8.count <= slugBytesMax, isLetterOrDigit(first) else { return false }
        return text.utf8.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: "_") }
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte) || (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte)
    }
}

/// The body of `PATCH /v1/apps/{app}`.
package enum AppChangeRequest {
    static let staleDays: ClosedRange<Int32> = 1...3_650

    package static func read(_ body: [UInt8]) throws(Problem) -> AppChange {
        var change = AppChange()
        var reader = try EnvelopeReader(body: body)
        change.name = try reader.string("name", bytesMax: AppRequest.nameBytesMax)
        if let name = change.name, !RegistrationRequest.isText(name) { throw .controlCharacters(at: .root / "name") }
        if var settings = try reader.object("settings") {
            for name in ["retention", "limits"] { try settings.notYet(name) }
            if var days = try settings.object("stale_after_days") {
                for provider in Provider.allCases {
                    guard let value = days.takeAny(provider.name) else { continue }
                    let pointer = days.pointer / provider.name
                    guard provider == .apns || provider == .fcm else {
                        throw Problem(.notSupported, "This version delivers to apns and fcm only.", at: pointer)
                    }
                    change.staleAfterDays.append(
                        (provider, value.isNull ? nil : try value.whole(staleDays, at: pointer)))
                }
                try days.end()
            }
            change.timeZone = try settings.timeZone("time_zone")
            change.limits = try settings.limits()
            try settings.end()
        }
        try reader.end()
        return change
    }
}

/// The body of `PATCH /v1/apps/{app}/messages/{message}`, and the option of a message.
package enum RateRequest {
    static let perSecond: ClosedRange<Int32> = 1...MessageRate.perSecondMax

    /// nil: as fast as its providers take it.
    package static func read(_ body: [UInt8]) throws(Problem) -> Int32? {
        var reader = try EnvelopeReader(body: body)
        let said = reader.takeAny("rate_per_second")
        try reader.end()
        guard let value = said else {
            throw Problem(
                .missingMember,
                "rate_per_second is missing: the pushes a second, or null for as many as the providers take.",
                at: .root / "rate_per_second")
        }
        return value.isNull ? nil : try value.whole(perSecond, at: reader.pointer / "rate_per_second")
    }
}

/// The bodies of the badge routes: one number.
package enum BadgeRequest {
    package static func readBadge(_ body: [UInt8]) throws(Problem) -> Int32 {
        try readNumber("badge", 0...Int32.max, "the number on the app's icon", body)
    }

    package static func readCount(_ body: [UInt8]) throws(Problem) -> Int32 {
        try readNumber("count", 1...Int32.max, "how much to take off the badge", body)
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
struct TokenBadgeRequest: Sendable {
    enum Change: Sendable {
        case set(Int32)
        case consume(Int32)
    }

    let readings: [(Provider, DeviceToken)]
    let change: Change

    static func read(_ body: [UInt8]) throws(Problem) -> TokenBadgeRequest {
        var reader = try EnvelopeReader(body: body)
        let provider = try reader.word("provider", Provider.allCases.map(\.name), Provider.init(name:))
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
                .missingMember, "badge is missing, the number to set, or consume, how much to take off.",
                at: .root / "badge")
        case (_?, _?):
            throw Problem(
                .invalidValue, "Either badge, the number to set, or consume, how much to take off: not both.",
                at: .root / "consume")
        }
    }
}

/// The body of `POST .../devices/lookup`.
enum LookupRequest {
    /// As many as a page of a list.
    static let tokensMax = 1_000

    static func read(_ body: [UInt8]) throws(Problem) -> (count: Int, readings: [TokenReading]) {
        var reader = try EnvelopeReader(body: body)
        let provider = try reader.word("provider", Provider.allCases.map(\.name), Provider.init(name:))
        let one = reader.take("token")
        let many = try reader.array("tokens", countMax: tokensMax)
        try reader.end()
        guard (one == nil) != (many == nil) else {
            let isMissing = one == nil
            throw Problem(
                isMissing ? .missingMember : .invalidValue,
                "Either token, one device token as its provider writes it, or tokens, an array of them.",
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
