// Refusals of messages that their provider would refuse too.
extension ProblemCode {
    static let messages = ProblemChapter(
        "A message that its provider would refuse",
        [
            payloadTooLarge, invalidCollapseID, priorityNotAllowed, reservedKey, notForBackground, notForPushType,
            nothingToShow, badgeTwice,
        ])

    package static let payloadTooLarge = ProblemCode(
        "payload_too_large", 422, "The payload is larger than the provider takes",
        cause: """
            the payload has more bytes than the provider takes (4,096; 5,120 for voip by APNs). The detail names \
            provider, locale and both sizes, counted with the widest badge; for FCM the notification and `data` \
            count together.
            """,
        remedy: "shorten texts or `data`; send an id and let the app fetch the rest.")

    package static let invalidCollapseID = ProblemCode(
        "invalid_collapse_id", 422, "The collapse id can't be used",
        cause:
            "`options.collapse_id` is longer than 64 bytes, or has control characters, or blanks at its ends.",
        remedy: "a short stable word; without one the gateway makes one.")

    package static let priorityNotAllowed = ProblemCode(
        "priority_not_allowed", 422, "The push type does not allow this priority",
        cause: "a background push with high priority, for instance: APNs refuses it.",
        remedy: "leave `options.priority` out.")

    package static let reservedKey = ProblemCode(
        "reserved_key", 422, "The name is reserved",
        cause: """
            a member of `data` has a name that belongs to a provider (`aps`, `from`, `message_type`, \
            `notification`, `google.`..., `gcm.`...) or to the gateway (`carillon_id`). FCM's names count where \
            the message is checked against FCM: where `audience.providers` names it, or the app has devices or \
            an active credential of it, or the message an `fcm` object; and where the app reaches nobody yet.
            """,
        remedy: "rename it; members of `aps` belong into `apns`, FCM's own fields into `fcm`.")

    package static let notForBackground = ProblemCode(
        "not_for_background", 422, "A background push shows nothing",
        cause: """
            `push_type` is background, and the message has a notification, a badge, a sound or other members of \
            `aps`; APNs would delay or drop it.
            """,
        remedy: "send `data` only, or an alert.")

    package static let notForPushType = ProblemCode(
        "not_for_push_type", 422, "The push type has no place for this",
        cause: """
            pushes of this type carry something else: a widget's push says only that content changed, a file \
            provider's names a container, and so on.
            """,
        remedy: "docs/push-types.md shows a message of each push type. Leave out what the pointer names.")

    package static let nothingToShow = ProblemCode(
        "nothing_to_show", 422, "An alert push has nothing to show",
        cause: """
            an alert without a notification, a badge or a sound for APNs, or without these and without `data` \
            for FCM.
            """,
        remedy: "add one of them, or set `push_type` to background.")

    package static let badgeTwice = ProblemCode(
        "badge_twice", 422, "The badge is given twice",
        cause: """
            `badge` stands beside a badge in `apns.aps`, or in the `apns` part of `fcm`; only the first is kept \
            count of.
            """,
        remedy: "use `badge` alone.")
}
