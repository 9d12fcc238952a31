/// Device tokens that choose their own fate, so that a test or a demo needs no script.
///
/// `dead` · two digits of fate · two digits of count · anything. Count 00: always; else the first so many pushes to
/// that token, after which it lives. The table stands in docs/simulator.md.
package enum TokenFate: Equatable, Sendable {
    case refuse(APNsRefusal)
    /// Not processed.
    case reset
    /// Not processed, and the client is told so.
    case refuseStream
    /// Never answered, not processed.
    case silence
    /// Processed, after `slowAnswer`.
    case slow
    /// Processed; the answer is lost.
    case loseAnswer
    /// Processed; the stream is reset instead of an answer.
    case resetAfterwards
    /// Processed; the connection is dropped instead of an answer.
    case dropAfterwards
    /// A status without a body that says why.
    case bodiless(Int)
    /// A body that is no JSON.
    case garbledBody(Int)
    /// Lives in this environment only: `BadDeviceToken` in the other.
    case only(APNsSimulatorSettings.Environment)

    /// 2020-01-01T00:00:00Z: before any registration of a test.
    static let longAgoMilliseconds: Int64 = 1_577_836_800_000
    private static let mark: [UInt8] = [0xde, 0xad]

    /// nil: an ordinary token.
    package static func of(token: [UInt8]) -> (fate: TokenFate, count: Int)? {
        guard token.count >= 4, token.starts(with: mark), let fate = fate(code: token[2]) else { return nil }
        return (fate, Int(token[3]))
    }

    private static func fate(code: UInt8) -> TokenFate? {
        switch code {
        case 0x01: .refuse(.unregistered)
        case 0x02: .refuse(APNsRefusal(410, "Unregistered", time: .milliseconds(longAgoMilliseconds)))
        case 0x03: .refuse(.expiredToken)
        case 0x04: .refuse(.badDeviceToken)
        case 0x05: .refuse(.deviceTokenNotForTopic)
        case 0x06: .refuse(.tooManyRequests)
        case 0x07: .refuse(.internalServerError)
        case 0x08: .refuse(.serviceUnavailable)
        case 0x09: .refuse(.shutdown)
        case 0x0a: .refuse(.topicDisallowed)
        case 0x0b: .refuse(.payloadTooLarge)
        case 0x0c: .refuse(.expiredProviderToken)
        case 0x0d: .refuse(.invalidProviderToken)
        case 0x0e: .refuse(.forbidden)
        case 0x0f: .refuse(.tooManyProviderTokenUpdates)
        case 0x10: .refuse(APNsRefusal(429, "TooManyRequests", retryAfterSeconds: 2))
        // Tomorrow's vocabulary: to be told by its status.
        case 0x11: .refuse(APNsRefusal(400, "ReasonOfTomorrow"))
        case 0x12: .refuse(APNsRefusal(503, "ReasonOfTomorrow"))
        case 0x13: .refuse(APNsRefusal(410, "Unregistered"))
        case 0x20: .reset
        case 0x21: .refuseStream
        case 0x22: .silence
        case 0x23: .slow
        case 0x24: .loseAnswer
        case 0x25: .resetAfterwards
        case 0x26: .dropAfterwards
        case 0x27: .bodiless(500)
        case 0x28: .garbledBody(400)
        case 0x30: .only(.production)
        case 0x31: .only(.sandbox)
        default: nil
        }
    }

    static let grammar: [GrammarEntry] = []
}
