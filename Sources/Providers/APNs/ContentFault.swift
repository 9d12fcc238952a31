import JSON
import Model

/// The reason why APNs would not take a message's content. The sender has to change it.
package enum APNsContentFault: Error, Equatable, Sendable {
    /// Counted with the widest badge. `locale`: only this localization is too long, and it is the longest.
    case payloadTooLarge(bytes: Int, bytesMax: Int, locale: String? = nil)
    case badCollapseID(bytes: Int)
    case priorityNotAllowed(PushType)
    case reservedKey(JSONPointer)
    /// A push of this type can't have this member, or would not show it.
    case notForType(PushType, JSONPointer)
    /// A push of this type is useless without this member.
    case missing(PushType, JSONPointer)
    case nothingToShow
    case badgeTwice
    case wrongValue(JSONPointer, expected: String)

    /// A stable code, published in docs/errors.md.
    package var code: String {
        switch self {
        case .payloadTooLarge: "payload_too_large"
        case .badCollapseID: "invalid_collapse_id"
        case .priorityNotAllowed: "priority_not_allowed"
        case .reservedKey: "reserved_key"
        // This code is older than those of the other types.
        case .notForType(.background, _): "not_for_background"
        case .notForType: "not_for_push_type"
        case .missing: "missing_member"
        case .nothingToShow: "nothing_to_show"
        case .badgeTwice: "badge_twice"
        case .wrongValue: "invalid_value"
        }
    }

    /// The faulty place in the message.
    package var pointer: JSONPointer {
        switch self {
        case .payloadTooLarge(_, _, let locale?): .root / "notification" / "localizations" / locale
        case .payloadTooLarge(_, _, nil), .nothingToShow: .root
        case .badCollapseID: .root / "options" / "collapse_id"
        case .priorityNotAllowed: .root / "options" / "priority"
        case .badgeTwice: .root / "apns" / "aps" / "badge"
        case .reservedKey(let pointer), .notForType(_, let pointer), .missing(_, let pointer),
            .wrongValue(let pointer, _):
            pointer
        }
    }

    /// The sentence for the sender. It quotes no content.
    package var detail: String {
        switch self {
        case .payloadTooLarge(let bytes, let bytesMax, _):
            "The APNs payload would have \(bytes) bytes; APNs takes at most \(bytesMax)."
        case .badCollapseID(let bytes):
            "A collapse id has 1 to \(APNsLimits.collapseIDBytesMax) bytes, no control characters, and no blanks at "
                + "its ends; this one has \(bytes) bytes."
        case .priorityNotAllowed(let type): "A push of type \(type.name) cannot have this priority."
        case .reservedKey: "This name belongs to a provider; it cannot be used in data."
        case .notForType(let type, _):
            "A push of type \(type.name) cannot have this; docs/push-types.md says what it has."
        case .missing(let type, _): "A push of type \(type.name) needs this; docs/push-types.md shows one."
        case .nothingToShow: "An alert push needs a notification, a badge or a sound."
        case .badgeTwice:
            "The badge is given twice, in badge and in apns.aps.badge: use badge, which the gateway counts."
        case .wrongValue(_, let expected): "Expected here: \(expected)."
        }
    }
}
