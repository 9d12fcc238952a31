import Content
import JSON
import Model

// The reasons why FCM would not take a message's content. The sender has to change it. Faults that mean the same have
// the same code as APNs'.
extension ProviderFault {
    package static func pushTypeNotOffered(_ type: PushType) -> ProviderFault {
        ProviderFault("not_supported", at: .root / "options" / "push_type", "FCM has no pushes of type \(type.name).")
    }

    /// `bytes`: counted with the widest badge. `locale`: only this localization is too long, and it is the longest.
    package static func payloadTooLarge(bytes: Int, bytesMax: Int, locale: String? = nil) -> ProviderFault {
        ProviderFault(
            "payload_too_large", at: place(ofLocale: locale),
            "FCM's notification and data would have \(bytes) bytes; FCM takes at most \(bytesMax).")
    }

    /// A name that belongs to FCM or to us: among data, or a target inside `fcm`.
    package static func reservedKey(_ pointer: JSONPointer) -> ProviderFault {
        var detail = "This name belongs to FCM or to the gateway; it cannot be used here."
        if ["validate_only", "validateOnly"].contains(pointer.tokens.last) {
            detail =
                "This is not a member of a message, and FCM would refuse it. Use options.dry_run to have FCM only "
                + "check."
        } else if pointer == .root / "fcm" / "message" {
            detail = "fcm is the message itself, without the object around it: move the members of message up."
        }
        return ProviderFault("reserved_key", at: pointer, detail)
    }

    /// A member of the protocol that FCM switched off in 2024. It would refuse the push for every device.
    package static func legacyKey(_ pointer: JSONPointer, today: String) -> ProviderFault {
        ProviderFault(
            "unknown_member", at: pointer,
            "This is a member of FCM's older protocol, which its HTTP v1 API refuses. Today it is \(today).")
    }

    package static func notForBackground(_ pointer: JSONPointer) -> ProviderFault {
        ProviderFault("not_for_background", at: pointer, "A background push shows nothing: it has data only.")
    }

    /// A subscription to items has no notification, but one in this place of `fcm`.
    package static func notificationMissing(_ pointer: JSONPointer) -> ProviderFault {
        ProviderFault(
            "not_for_background", at: pointer,
            "A subscription without notification sends data alone. Give notification too, or leave this out.")
    }

    package static let nothingToShow = ProviderFault(
        nothingToShowCode, at: .root, "A push for FCM needs a notification, a badge, a sound or data.")

    /// The badge is given in `badge` and in this place too.
    package static func badgeTwice(_ pointer: JSONPointer) -> ProviderFault {
        ProviderFault(
            "badge_twice", at: pointer,
            "The badge is given twice, in badge and in fcm: use badge, which the gateway counts.")
    }

    /// One name in two spellings, `collapse_key` and `collapseKey`: it is unclear which one counts.
    package static func namedTwice(_ pointer: JSONPointer) -> ProviderFault {
        ProviderFault(
            "duplicate_member", at: pointer,
            "The same name stands here in both spellings, with underscores and with capitals.")
    }
}
