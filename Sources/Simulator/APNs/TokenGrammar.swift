import Encodings

/// The fate that a device token chooses for itself, so that a test or a demo needs no script.
/// `dead` · two digits of fate · two digits of count · anything. With count 00 the fate always holds. Otherwise it
/// holds for so many pushes to that token, and later pushes are accepted. docs/simulator.md has the table.
package enum TokenFate: Equatable, Sendable {
    case refuse(APNsRefusal)
    case common(CommonFate)
    /// A status without a body.
    case bodiless(Int)
    case garbledBody(Int)
    /// Valid in this environment only: `BadDeviceToken` in the other.
    case only(APNsSimulatorSettings.Environment)

    /// 2020-01-01T00:00:00Z: before any registration of a test.
    static let longAgoMilliseconds: Int64 = 1_577_836_800_000
    private static let mark: [UInt8] = [0xde, 0xad]

    struct Entry {
        let code: UInt8
        let fate: TokenFate
        let meaning: String
    }

    package static func of(token: [UInt8]) -> (fate: TokenFate, count: Int)? {
        guard token.count >= 4, token.starts(with: mark), let entry = table.first(where: { $0.code == token[2] }) else {
            return nil
        }
        return (entry.fate, Int(token[3]))
    }

    static let table: [Entry] = refusals + rarerRefusals + odd
}

extension TokenFate {
    private static func refusal(_ code: UInt8, _ refusal: APNsRefusal, _ more: String = "") -> Entry {
        Entry(code: code, fate: .refuse(refusal), meaning: "\(refusal.status) \(refusal.reason)" + more)
    }

    private static func common(_ code: UInt8, _ fate: CommonFate, _ meaning: String) -> Entry {
        Entry(code: code, fate: .common(fate), meaning: meaning)
    }

    private static let refusals: [Entry] = [
        refusal(0x01, .unregistered, ", since now"),
        refusal(
            0x02, APNsRefusal(410, "Unregistered", time: .milliseconds(longAgoMilliseconds)),
            ", since 2020-01-01: before any registration"),
        refusal(0x03, .expiredToken, ", since now"), refusal(0x04, .badDeviceToken),
        refusal(0x05, .deviceTokenNotForTopic), refusal(0x06, .tooManyRequests), refusal(0x07, .internalServerError),
        refusal(0x08, .serviceUnavailable), refusal(0x09, .shutdown), refusal(0x0a, .topicDisallowed),
        refusal(0x0b, .payloadTooLarge), refusal(0x0c, .expiredProviderToken), refusal(0x0d, .invalidProviderToken),
        refusal(0x0e, .forbidden), refusal(0x0f, .tooManyProviderTokenUpdates),
        refusal(0x10, APNsRefusal(429, "TooManyRequests", retryAfterSeconds: 2), " with Retry-After 2"),
        // A reason that Apple may add later: clients must go by the status.
        refusal(0x11, APNsRefusal(400, "ReasonOfTomorrow"), ", an unknown reason"),
        refusal(0x12, APNsRefusal(503, "ReasonOfTomorrow"), ", an unknown reason"),
        refusal(0x13, APNsRefusal(410, "Unregistered"), " without a timestamp"),
    ]

    /// Refusals that a good sender never gets, because it could have known.
    private static let rarerRefusals: [Entry] = [
        refusal(0x40, .badCollapseID), refusal(0x41, .badExpirationDate), refusal(0x42, .badMessageID),
        refusal(0x43, .badPriority), refusal(0x44, .badTopic), refusal(0x45, .duplicateHeaders),
        refusal(0x46, .idleTimeout), refusal(0x47, .invalidPushType), refusal(0x48, .missingDeviceToken),
        refusal(0x49, .missingTopic), refusal(0x4a, .payloadEmpty), refusal(0x4b, .badCertificate),
        refusal(0x4c, .badCertificateEnvironment), refusal(0x4d, .missingProviderToken),
        refusal(0x4e, .unrelatedKeyID), refusal(0x4f, .badEnvironmentKeyID),
        // The spelling that one client library knows.
        refusal(0x50, APNsRefusal(403, "BadEnvironmentKeyInToken")),
        refusal(0x51, .badPath), refusal(0x52, .methodNotAllowed),
    ]

    private static let odd: [Entry] = [
        common(0x20, .reset, "RST_STREAM INTERNAL_ERROR; not processed"),
        common(0x21, .refuseStream, "RST_STREAM REFUSED_STREAM; not processed"),
        common(0x22, .silence, "no answer; not processed"),
        common(0x23, .slow, "accepted, answered late (5 s)"),
        common(0x24, .loseAnswer, "accepted, the answer is lost"),
        common(0x25, .resetAfterwards, "accepted, the stream is reset instead of an answer"),
        common(0x26, .dropAfterwards, "accepted, the connection is dropped instead of an answer"),
        Entry(code: 0x27, fate: .bodiless(500), meaning: "500 without a body"),
        Entry(code: 0x28, fate: .garbledBody(400), meaning: "400 with a body that is not JSON"),
        Entry(code: 0x30, fate: .only(.production), meaning: "lives in production only: BadDeviceToken in the sandbox"),
        Entry(code: 0x31, fate: .only(.sandbox), meaning: "lives in the sandbox only: BadDeviceToken in production"),
    ]

    static var grammar: [GrammarEntry] {
        table.map { GrammarEntry(name: Hexadecimal.text([$0.code]), meaning: $0.meaning) }
    }
}
