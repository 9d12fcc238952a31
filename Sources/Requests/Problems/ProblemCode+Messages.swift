extension ProblemCode {
    static let messages = ProblemChapter(
        "The provider would refuse the message",
        [
            payloadTooLarge, invalidCollapseID, priorityNotAllowed, reservedKey, notForBackground, notForPushType,
            nothingToShow, badgeTwice,
        ])

    package static let payloadTooLarge = ProblemCode(
        "payload_too_large", 422, "The payload is too large for the provider",
        cause: """
            the payload exceeds the provider's limit (4,096 bytes; 5,120 for voip on APNs). The detail names the \
            provider, the locale and both sizes. The size includes the widest badge; for FCM the notification and \
            `data` count together.
            """,
        remedy: "shorten texts or `data`. Or send an id, and let the app fetch the rest.")

    package static let invalidCollapseID = ProblemCode(
        "invalid_collapse_id", 422, "The collapse id is not valid",
        cause: """
            `options.collapse_id` is longer than 64 bytes, has control characters, or begins or ends with a space.
            """,
        remedy: "use a short, stable name, or leave it out: the gateway then chooses one.")

    package static let priorityNotAllowed = ProblemCode(
        "priority_not_allowed", 422, "The push type does not allow this priority",
        cause: """
            the push type does not allow the priority. For example, APNs refuses a background push with high \
            priority.
            """,
        remedy: "leave `options.priority` out.")

    package static let reservedKey = ProblemCode(
        "reserved_key", 422, "The name is reserved",
        cause: """
            a member of `data` has a name that is reserved for a provider (`aps`, `from`, `message_type`, \
            `notification`, `google.`..., `gcm.`...) or for the gateway (`carillon_id`). FCM's names are reserved if \
            the message can reach FCM. It can if `audience.providers` names FCM, the app has FCM devices or an \
            active FCM credential, or the message has an `fcm` object. They are also reserved while the app can't \
            reach any device yet.
            """,
        remedy: "rename the member. Members of `aps` belong in `apns`, FCM's own fields in `fcm`.")

    package static let notForBackground = ProblemCode(
        "not_for_background", 422, "A background push can't show anything",
        cause: """
            `push_type` is background, but the message has a notification, a badge, a sound or other members of \
            `aps`. APNs would delay or drop it. Or a subscription to items has no `notification`, but one for a single \
            platform in `fcm`.
            """,
        remedy: "send only `data`, or send an alert. Give a subscription a `notification`.")

    package static let notForPushType = ProblemCode(
        "not_for_push_type", 422, "The push type does not allow this member",
        cause: """
            pushes of this type have other contents. For example, a widget push only says that content changed, and \
            a file provider push names a container.
            """,
        remedy: "remove the member at `pointer`. docs/push-types.md shows a message of each push type.")

    package static let nothingToShow = ProblemCode(
        "nothing_to_show", 422, "The push has nothing to show",
        cause: """
            `notification` is given and has no visible text, in common or in one language: white space and invisible \
            characters show nothing, whatever stands beside them. Or the message is for FCM only, whose devices show \
            title and body but no subtitle. Or an alert for APNs has no notification, badge or sound; or an alert for \
            FCM has none of these and no `data`. Texts in `localizations` alone show nothing to people with another language.
            """,
        remedy: """
            write a text (is a variable of the script not set?), or leave `notification` out for a push without one. Or \
            set `push_type` to background.
            """)

    package static let badgeTwice = ProblemCode(
        "badge_twice", 422, "The badge is given twice",
        cause: """
            the message has `badge` and also a badge in `apns.aps` or in the `apns` part of `fcm`. The gateway keeps \
            count of `badge` only.
            """,
        remedy: "use only `badge`.")
}
