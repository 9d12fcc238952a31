import Model

/// APNs' rules for one push type. Source: "Sending notification requests to APNs".
package struct APNsPushTypeRow: Equatable, Sendable {
    package let type: PushType
    /// The suffix added to the app's bundle id to make `apns-topic`.
    package let topicSuffix: String
    /// Allowed values of `apns-priority`, the default first.
    package let priorities: [UInt8]
    package let payloadBytesMax: Int
    package let repeats: RepeatRule
    /// The kind of token that it goes to: APNs refuses the others with `BadDeviceToken`.
    package let tokenKind: TokenKind
    /// The kind of token for the start of a Live Activity: the activity has no token of its own yet.
    package let startTokenKind: TokenKind
    /// False: `apns-expiration` is 0, whatever the sender's time to live; late, such a push is worse than none.
    package let isStored: Bool
    package let shows: APNsShown
    package let aps: APNsApsRule
}

/// Whether a push may be sent again after its answer was lost (P4).
package enum RepeatRule: Equatable, Sendable {
    /// The second push replaces the first by its collapse id, or neither is visible.
    case always
    /// The user would notice both: a second ring, a second activity.
    case never
    /// Updates and ends are idempotent by their timestamp; a second start is a second activity.
    case unlessActivityStart
}

/// The parts of a push that the device's system shows; they limit a message's common part.
package enum APNsShown: Equatable, Sendable {
    /// Text, badge and sound.
    case everything
    /// Title, body and sound, beside the activity itself.
    case activity
    /// Only the app gets the push: no text, no badge, no sound.
    case nothing
}

package enum APNsApsRule: Equatable, Sendable {
    case always
    /// The payload has it if the sender put something into it.
    case ifGiven
    case never
}

package enum APNsPushTypes {
    private static let now: UInt8 = 10
    /// A priority that considers the device's power.
    private static let relaxed: UInt8 = 5
    // Priority 1 ("never wake the device") is not offered: an option says high or normal, as with all providers.

    // An exhaustive switch: a type without a row does not compile.
    package static func row(for type: PushType) -> APNsPushTypeRow {
        switch type {
        case .alert: row(type, [now, relaxed], .alert, shows: .everything)
        // APNs refuses priority 10 with a background push.
        case .background: row(type, [relaxed], .alert)
        case .voip:
            row(
                type, [now], .voip, bytesMax: APNsLimits.voipPayloadBytesMax, repeats: .never, isStored: false,
                aps: .ifGiven)
        case .complication: row(type, [now, relaxed], .complication)
        case .fileProvider: row(type, [now, relaxed], .fileProvider, aps: .never)
        // The topic is the MDM certificate's own, "com.apple.mgmt.External.<uuid>".
        case .mdm: row(type, [now, relaxed], .mdm, aps: .never)
        case .liveActivity:
            row(
                type, [now, relaxed], .liveActivity, start: .pushToStart, repeats: .unlessActivityStart,
                shows: .activity)
        case .pushToTalk: row(type, [now], .pushToTalk, repeats: .never, isStored: false)
        case .location: row(type, [now, relaxed], .location)
        case .widgets: row(type, [now, relaxed], .widget)
        case .controls: row(type, [now, relaxed], .control)
        }
    }

    /// Returns the value of `apns-topic`. Empty stays empty: a certificate with one topic needs none.
    package static func topic(bundleID: String, type: PushType) -> String {
        bundleID.isEmpty ? "" : bundleID + row(for: type).topicSuffix
    }

    private static func row(
        _ type: PushType, _ priorities: [UInt8], _ kind: TokenKind, start: TokenKind? = nil,
        bytesMax: Int = APNsLimits.payloadBytesMax, repeats: RepeatRule = .always, isStored: Bool = true,
        shows: APNsShown = .nothing, aps: APNsApsRule = .always
    ) -> APNsPushTypeRow {
        APNsPushTypeRow(
            type: type, topicSuffix: type.service.suffix, priorities: priorities, payloadBytesMax: bytesMax,
            repeats: repeats, tokenKind: kind, startTokenKind: start ?? kind, isStored: isStored, shows: shows,
            aps: aps)
    }
}
