import Model

/// What APNs asks of one push type. Source: reference page "Sending notification requests"; field knowledge where said.
package struct APNsPushTypeRow: Equatable, Sendable {
    package let type: PushType
    /// Appended to the app's bundle id to make `apns-topic`.
    package let topicSuffix: String
    /// Allowed values of `apns-priority`, the one taken by default first.
    package let priorities: [UInt8]
    package let payloadBytesMax: Int
    package let repeats: RepeatRule
    /// Which of an installation's tokens it goes to: APNs refuses the others with `BadDeviceToken`.
    package let tokenKind: TokenKind
    /// The start of a Live Activity goes to the app's token for that: there is no token of the activity yet.
    package let startTokenKind: TokenKind
    /// False: `apns-expiration` is 0, whatever the sender's time to live; late, such a push is worse than none.
    package let isStored: Bool
    package let shows: APNsShown
    package let aps: APNsApsRule
}

/// May a push whose answer was lost be sent again (P4)?
package enum RepeatRule: Equatable, Sendable {
    /// The collapse id makes the second replace the first, or nobody sees either.
    case always
    /// The user would notice twice: a second ring, a second activity.
    case never
    /// Updates and ends are idempotent by their timestamp; a second start is a second activity.
    case unlessActivityStart
}

/// What the device's system shows of a push, and so what of a message's common part has a meaning.
package enum APNsShown: Equatable, Sendable {
    /// Text, badge and sound.
    case everything
    /// Title, body and sound, beside the activity itself.
    case activity
    /// The app gets it, and nobody else: no text, no badge, no sound.
    case nothing
}

/// Whether the payload has a member `aps`.
package enum APNsApsRule: Equatable, Sendable {
    case always
    /// Where the sender put something into it.
    case ifGiven
    case never
}

/// The one table of push types.
package enum APNsPushTypes {
    private static let now: UInt8 = 10
    /// Considers the device's power.
    private static let relaxed: UInt8 = 5
    // Priority 1 ("never wake the device") is for nobody here: an option says high or normal, as with all providers.

    // An exhaustive switch: a type without a row does not compile.
    package static func row(for type: PushType) -> APNsPushTypeRow {
        switch type {
        case .alert: row(type, "", [now, relaxed], .alert, shows: .everything)
        // Priority 10 with a background push is an error of its own at APNs.
        case .background: row(type, "", [relaxed], .alert)
        case .voip:
            row(
                type, type.service.suffix, [now], .voip, bytesMax: APNsLimits.voipPayloadBytesMax, repeats: .never,
                isStored: false,
                aps: .ifGiven)
        case .complication: row(type, type.service.suffix, [now, relaxed], .complication)
        case .fileProvider: row(type, type.service.suffix, [now, relaxed], .fileProvider, aps: .never)
        // The topic is the MDM certificate's own, "com.apple.mgmt.External.<uuid>".
        case .mdm: row(type, "", [now, relaxed], .mdm, aps: .never)
        case .liveActivity:
            row(
                type, ".push-type.liveactivity", [now, relaxed], .liveActivity, start: .pushToStart,
                repeats: .unlessActivityStart, shows: .activity)
        case .pushToTalk: row(type, ".voip-ptt", [now], .pushToTalk, repeats: .never, isStored: false)
        case .location: row(type, ".location-query", [now, relaxed], .location)
        case .widgets: row(type, ".push-type.widgets", [now, relaxed], .widget)
        case .controls: row(type, ".push-type.controls", [now, relaxed], .control)
        }
    }

    /// The value of `apns-topic`. Empty stays empty: a certificate with one topic knows it.
    package static func topic(bundleID: String, type: PushType) -> String {
        bundleID.isEmpty ? "" : bundleID + row(for: type).topicSuffix
    }

    private static func row(
        _ type: PushType, _ suffix: String, _ priorities: [UInt8], _ kind: TokenKind, start: TokenKind? = nil,
        bytesMax: Int = APNsLimits.payloadBytesMax, repeats: RepeatRule = .always, isStored: Bool = true,
        shows: APNsShown = .nothing, aps: APNsApsRule = .always
    ) -> APNsPushTypeRow {
        APNsPushTypeRow(
            type: type, topicSuffix: suffix, priorities: priorities, payloadBytesMax: bytesMax, repeats: repeats,
            tokenKind: kind, startTokenKind: start ?? kind, isStored: isStored, shows: shows, aps: aps)
    }
}
