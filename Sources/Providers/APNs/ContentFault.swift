import Content
import JSON
import Model

// The reasons why APNs would not take a message's content. The sender has to change it.
extension ProviderFault {
    /// `bytes`: counted with the widest badge. `locale`: only this localization is too long, and it is the longest.
    package static func payloadTooLarge(bytes: Int, bytesMax: Int, locale: String? = nil) -> ProviderFault {
        ProviderFault(
            "payload_too_large", at: place(ofLocale: locale),
            "The APNs payload would have \(bytes) bytes; APNs takes at most \(bytesMax).")
    }

    package static func priorityNotAllowed(_ type: PushType) -> ProviderFault {
        ProviderFault(
            "priority_not_allowed", at: .root / "options" / "priority",
            "A push of type \(type.name) cannot have this priority.")
    }

    package static func reservedKey(_ pointer: JSONPointer) -> ProviderFault {
        ProviderFault("reserved_key", at: pointer, "This name belongs to a provider; it cannot be used in data.")
    }

    /// A push of this type can't have this member, or would not show it.
    package static func notForType(_ type: PushType, _ pointer: JSONPointer) -> ProviderFault {
        // The code for background pushes is older than that of the other types.
        ProviderFault(
            type == .background ? "not_for_background" : "not_for_push_type", at: pointer,
            "A push of type \(type.name) cannot have this; docs/push-types.md says what it has.")
    }

    /// A push of this type is useless without this member.
    package static func missing(_ type: PushType, _ pointer: JSONPointer) -> ProviderFault {
        ProviderFault(
            "missing_member", at: pointer, "A push of type \(type.name) needs this; docs/push-types.md shows one.")
    }

    /// A member of the `apns` object as FCM's messages have it.
    package static func inFCMsForm(_ pointer: JSONPointer) -> ProviderFault {
        ProviderFault(
            "invalid_value", at: pointer,
            "This is the form of FCM's apns object. In a message for APNs the payload's members stand in apns itself, and "
                + "options sets what the headers say: priority, collapse_id, ttl_seconds, push_type.")
    }

    package static let nothingToShow = ProviderFault(
        nothingToShowCode, at: .root, "An alert push needs a notification, a badge or a sound.")

    package static let badgeTwice = ProviderFault(
        "badge_twice", at: .root / "apns" / "aps" / "badge",
        "The badge is given twice, in badge and in apns.aps.badge: use badge, which the gateway counts.")
}
