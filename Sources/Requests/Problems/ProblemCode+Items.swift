import TriggerRules

extension ProblemCode {
    static let items = ProblemChapter(
        "Subscriptions to items",
        [
            disabled, invalidTrigger, triggerNotAllowed, fieldNotSubscribed, modeNotSupported, lineNotRising, tooMany,
        ])

    package static let disabled = ProblemCode(
        "disabled", 403, "Subscriptions to items are switched off",
        cause: """
            the app's setting `triggers.enabled` is false, as it is at first. Then no subscription is activated, updates \
            are refused, and users' tokens register no devices. Subscriptions that exist send nothing.
            """,
        remedy: """
            switch them on: `PATCH /v1/apps/{app}` with `{"triggers": {"enabled": true}}`.
            """)

    package static let invalidTrigger = ProblemCode(
        "invalid_trigger", 422, "The trigger is not valid",
        cause: """
            the trigger is no condition in Java's form, compares values of different types, is longer than \
            \(TriggerLimits.textBytesMax) bytes, or nests more than \(TriggerLimits.depthMax) levels deep.
            """,
        remedy: """
            write it as in `Double.parseDouble(${last_price}) > 100.0`. The detail says at which character the error is, \
            and what is expected there. `position` is the same number.
            """)

    package static let triggerNotAllowed = ProblemCode(
        "trigger_not_allowed", 403, "The app does not allow this trigger",
        cause: """
            the trigger matches none of the patterns in the app's setting `triggers.allow` as a whole. Without patterns, \
            no trigger is allowed. A trigger for which a pattern takes too long counts as no match.
            """,
        remedy: """
            use a trigger that is allowed, or add a pattern with `PATCH /v1/apps/{app}`. Patterns are PostgreSQL's \
            regular expressions, in which a backslash precedes `(`, `)`, `$`, `{`, `}` and `.` of the trigger.
            """)

    package static let fieldNotSubscribed = ProblemCode(
        "field_not_subscribed", 422, "The subscription does not have the field",
        cause: """
            the trigger or a text names a field, such as `${last_price}` or `$[1]`, that is not in `fields`. Names are \
            compared byte by byte, and positions count from 1.
            """,
        remedy: """
            add the field to `fields`, or correct the name. If `fields` itself changes, change the texts and the trigger \
            in the same request.
            """)

    package static let modeNotSupported = ProblemCode(
        "mode_not_supported", 422, "Subscriptions with pushes do not have this mode",
        cause: "`mode` is COMMAND, RAW or UNFILTERED, or the subscription has a `selector`.",
        remedy: """
            use MERGE, in which fields keep their last value, or DISTINCT, in which each update stands alone. Leave \
            `selector` out: a trigger can choose updates.
            """)

    package static let lineNotRising = ProblemCode(
        "line_not_rising", 422, "The number of the line does not rise",
        cause: """
            a `line` of a stream of updates is not above all lines before it in the same request. Its update was not \
            taken.
            """,
        remedy: """
            number the lines of a producer upwards, and never use a number again for another update. To repeat lines, \
            send them in their order in a new request.
            """)

    package static let tooMany = ProblemCode(
        "too_many", 429, "A limit of subscriptions or items is reached",
        cause: """
            a device has 1,000 subscriptions. Or an item would have more than \(ItemState.fieldsMax) fields or 64 KiB, an \
            update has more than 16 KiB, an app has 1,000,000 items, or an item has 100 different triggers that are no \
            simple threshold.
            """,
        remedy: """
            delete subscriptions that are not needed (`DELETE .../subscriptions?status=triggered`), remove fields with \
            null, or write triggers that compare one field with one number. An item without subscriptions and updates \
            is removed after 30 days.
            """)
}
