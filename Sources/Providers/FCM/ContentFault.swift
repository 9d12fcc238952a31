import JSON
import Model

/// The reason why FCM would not take a message's content. The sender has to change it.
package enum FCMContentFault: Error, Equatable, Sendable {
    case pushTypeNotOffered(PushType)
    /// Counted with the widest badge. `locale`: only this localization is too long, and it is the longest.
    case payloadTooLarge(bytes: Int, bytesMax: Int, locale: String? = nil)
    case badCollapseID(bytes: Int)
    /// A name that belongs to FCM or to us: among data, or a target inside `fcm`.
    case reservedKey(JSONPointer)
    case notForBackground(JSONPointer)
    case nothingToShow
    /// The badge is given in `badge` and in this place too.
    case badgeTwice(JSONPointer)
    /// One name in two spellings, `collapse_key` and `collapseKey`: it is unclear which one counts.
    case namedTwice(JSONPointer)
    case wrongValue(JSONPointer, expected: String)

    /// A stable code, published in docs/errors.md. Faults that mean the same have the same code as APNs'.
    package var code: String {
        switch self {
        case .pushTypeNotOffered: "not_supported"
        case .payloadTooLarge: "payload_too_large"
        case .badCollapseID: "invalid_collapse_id"
        case .reservedKey: "reserved_key"
        case .notForBackground: "not_for_background"
        case .nothingToShow: "nothing_to_show"
        case .badgeTwice: "badge_twice"
        case .namedTwice: "duplicate_member"
        case .wrongValue: "invalid_value"
        }
    }

    /// The faulty place in the message.
    package var pointer: JSONPointer {
        switch self {
        case .pushTypeNotOffered: .root / "options" / "push_type"
        case .payloadTooLarge(_, _, let locale?): .root / "notification" / "localizations" / locale
        case .payloadTooLarge(_, _, nil), .nothingToShow: .root
        case .badCollapseID: .root / "options" / "collapse_id"
        case .reservedKey(let pointer), .notForBackground(let pointer), .badgeTwice(let pointer),
            .namedTwice(let pointer), .wrongValue(let pointer, _):
            pointer
        }
    }

    /// The sentence for the sender. It quotes no content.
    package var detail: String {
        switch self {
        case .pushTypeNotOffered(let type): "FCM has no pushes of type \(type.name)."
        case .payloadTooLarge(let bytes, let bytesMax, _):
            "FCM's notification and data would have \(bytes) bytes; FCM takes at most \(bytesMax)."
        case .badCollapseID(let bytes):
            "A collapse id has 1 to \(FCMLimits.collapseIDBytesMax) bytes, no control characters, and no blanks at "
                + "its ends; this one has \(bytes) bytes."
        case .reservedKey(let pointer) where ["validate_only", "validateOnly"].contains(pointer.tokens.last):
            "This is not a member of a message, and FCM would refuse it. Use options.dry_run to have FCM only check."
        case .reservedKey(let pointer) where pointer == .root / "fcm" / "message":
            "fcm is the message itself, without the object around it: move the members of message up."
        case .reservedKey: "This name belongs to FCM or to the gateway; it cannot be used here."
        case .notForBackground: "A background push shows nothing: it has data only."
        case .nothingToShow: "A push for FCM needs a notification, a badge, a sound or data."
        case .badgeTwice: "The badge is given twice, in badge and in fcm: use badge, which the gateway counts."
        case .namedTwice: "The same name stands here in both spellings, with underscores and with capitals."
        case .wrongValue(_, let expected): "Expected here: \(expected)."
        }
    }
}
