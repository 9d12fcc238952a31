import Content
import TriggerRules

extension ProblemCode {
    static let values = ProblemChapter(
        "The request is not valid",
        [
            missingMember, unknownMember, wrongType, invalidValue, valueTooLong, invalidFilter, invalidTemplate,
            invalidToken, kindNotAllowed, notSupported, routeNotSupported, tooManyTopics, slugTaken, keyNameTaken,
            tooManyKeys, conflict, notARetirement, tokenReplaced, tokenMoved, messageOver, messageStarted, contentSwept,
            idempotencyMismatch,
            backlogFull, shareUsedUp, subtreeTooLarge, invalidRules,
        ])

    package static let missingMember = ProblemCode(
        "missing_member", 422, "A member is missing",
        cause: "a required member is absent or null.",
        remedy: "add the member at `pointer`.")

    package static let unknownMember = ProblemCode(
        "unknown_member", 422, "A member is unknown",
        cause: """
            an object has a member that the API does not know. The gateway refuses it, so that a misspelt name is \
            noticed.
            """,
        remedy: "correct or remove the member at `pointer`. A provider's own members belong in `apns` or `fcm`.")

    package static let wrongType = ProblemCode(
        "wrong_type", 422, "A value has the wrong type",
        cause: "the value has another type than expected, for example a string instead of a number.",
        remedy: "send the type that the detail names.")

    package static let invalidValue = ProblemCode(
        "invalid_value", 422, "A value is not allowed",
        cause: """
            the type is right, but the value is not allowed: an unknown name, a number out of range, an invalid \
            time, or invalid characters.
            """,
        remedy: "use a value that the detail allows.")

    package static let valueTooLong = ProblemCode(
        "value_too_long", 422, "A value is too long",
        cause: "a text, a list or an object exceeds its limit.",
        remedy: "shorten it; the detail names the limit. Split a patch of many attributes into several.")

    package static let invalidFilter = ProblemCode(
        "invalid_filter", 422, "The filter is not valid",
        cause: """
            the filter has a syntax error, names an unknown field, uses an operator that the field does not support, \
            or exceeds a limit.
            """,
        remedy: """
            the detail says at which character the error is, and what is expected there. `position` is the same \
            number. docs/filters.md describes the language.
            """)

    package static let invalidTemplate = ProblemCode(
        "invalid_template", 422, "The template is not valid",
        cause: """
            a text of the message has `{{` without a valid field and default after it, or without closing braces. Or \
            the placeholder is in a member that is not filled in: a name, a header or `collapse_id`. Or a \
            placeholder without a default is the whole of `category`, `channel` or `thread`. Or there are too many \
            placeholders. A text may have \(TemplateLimits.placeholdersPerTextMax) placeholders, and a message \
            \(TemplateLimits.placeholdersPerMessageMax). At most \(TemplateLimits.placeholdersMax) of a \
            message's placeholders may differ in field or default, with \(TemplateLimits.fieldsMax) different \
            fields. Or a text of a subscription to items has half a field, such as `${price`, more than \
            \(SubscriptionText.fieldsMax) fields, or `{{`.
            """,
        remedy: """
            write `{{attributes.name | default: 'you'}}`. The detail says at which character the error is, and what \
            is expected there. To show two braces, write `{{'{{'}}`. docs/templates.md describes the language. A \
            subscription's text names a field as `${last_price}` or, by its position in `fields`, as `$[1]`.
            """)

    package static let invalidToken = ProblemCode(
        "invalid_token", 422, "The device token is malformed",
        cause: """
            an APNs token is not an even number of hexadecimal digits, often because it has spaces, angle brackets \
            or base64. Or an FCM token has characters other than visible ASCII.
            """,
        remedy: """
            for APNs, send the bytes of the device token as hexadecimal digits. For FCM, send the token as the \
            library gave it to the app. The gateway does not check the length, because providers change it.
            """)

    package static let kindNotAllowed = ProblemCode(
        "kind_not_allowed", 422, "The provider has no tokens of this kind",
        cause: """
            `kind` is not alert, and the provider has one token per installation for every kind of push, as FCM has.
            """,
        remedy: "leave `kind` out. Only APNs issues a token for each kind.")

    package static let notSupported = ProblemCode(
        "not_supported", 422, "Not supported by this version",
        cause: """
            the member or value is part of the API, but this version does not support it. Ignoring it would do \
            something else than you asked for.
            """,
        remedy: "leave it out, or use a version that supports it.")

    package static let routeNotSupported = ProblemCode(
        "route_not_supported", 501, "The route is not supported by this version",
        cause: """
            the route is part of the API, but this version does not support it: `/metrics`, events and pace of \
            messages, verify and rollback of credentials, webhooks, the audit log.
            """,
        remedy: "the detail says what to do instead. `/openapi.yaml` lists the routes that are served.")

    package static let tooManyTopics = ProblemCode(
        "too_many_topics", 422, "The app has too many topics",
        cause: """
            registrations and messages of the app already use as many topics as an app may have (1,000). Pushes of \
            each topic are sent on a separate route; without a limit one app could slow down all others.
            """,
        remedy: """
            use bundle ids as topics, not devices or users. The other registrations of the request or import are not \
            affected.
            """)

    package static let slugTaken = ProblemCode(
        "slug_taken", 409, "The slug is taken",
        cause: "another app, with another name, has this slug.",
        remedy: "choose another slug. Creating the same app twice is not an error: the second answer is 200.")

    package static let keyNameTaken = ProblemCode(
        "key_name_taken", 409, "Another API key has this name",
        cause: """
            names of keys are unique within an app, so that a request whose answer was lost does not create a second \
            key.
            """,
        remedy: "choose another name. If the answer with the key was lost, revoke that key and create it again.")

    package static let tooManyKeys = ProblemCode(
        "too_many_keys", 409, "There are too many API keys",
        cause: """
            the app already has a thousand keys, or there are a thousand keys for all apps. Keys are for clients, \
            not for devices.
            """,
        remedy: "revoke unused keys; `last_used_at` shows which.")

    package static let conflict = ProblemCode(
        "conflict", 409, "The request conflicts with stored data",
        cause: "the request contradicts data that was stored in the meantime.",
        remedy: "read the stored data, and decide again.")

    package static let notARetirement = ProblemCode(
        "not_a_retirement", 409, "The entry did not retire a token",
        cause: "the entry of the feed has a verdict other than retired, so there is nothing to undo.",
        remedy: """
            undo the entry that retired the token. A suspected token needs no undo: it recovers when it works, or \
            when the app registers again.
            """)

    package static let tokenReplaced = ProblemCode(
        "token_replaced", 409, "The device has another token now",
        cause: """
            after the token was retired, the installation registered another token of the same kind, or moved to \
            another topic or environment.
            """,
        remedy: "none is needed: the device is reached through its new token.")

    package static let tokenMoved = ProblemCode(
        "token_moved", 409, "The token belongs to another installation now",
        cause: """
            after the token was retired, another installation of the app registered it. A token belongs to one \
            installation.
            """,
        remedy: "`POST .../devices/lookup` shows which installation. If it is the wrong one, remove it first.")

    package static let messageOver = ProblemCode(
        "message_over", 409, "The message has ended",
        cause: """
            a finished or cancelled message can't be paused, resumed or cancelled, and its rate can't be changed. \
            Cancelling a cancelled message and pausing a paused message are not errors.
            """,
        remedy: "none is needed: no more pushes will be sent. To send cancelled pushes, send a new message.")

    package static let messageStarted = ProblemCode(
        "message_started", 409, "The message has started",
        cause: """
            `name`, `send_at`, `notification` and `audience` can be changed while the message waits for its time, or is \
            paused and its audience is not being cut yet. Its pushes may have left since, or it was cancelled.
            """,
        remedy: """
            cancel the message, and send a duplicate: `POST .../duplicate` makes a paused one, which can be changed and \
            resumed. The rate can still be changed.
            """)

    package static let contentSwept = ProblemCode(
        "content_swept", 410, "The content of the message has been deleted",
        cause: """
            the content of a message is deleted some time after its end (30 days by default), so that it can't be sent \
            again.
            """,
        remedy: "send a new message.")

    package static let idempotencyMismatch = ProblemCode(
        "idempotency_mismatch", 422, "The Idempotency-Key was used for another request",
        cause: """
            a key identifies one request of an app and route for 48 hours. This request differs from the first one \
            by at least one byte.
            """,
        remedy: "repeat a request byte for byte, or use a new key for a new request.")

    package static let backlogFull = ProblemCode(
        "backlog_full", 429, "The app has too many unfinished messages",
        cause: """
            the app has reached its limit of unfinished messages. Messages that name at most 100 receivers and \
            broadcasts have separate limits. Scheduled and paused messages count, and messages that wait for the end \
            of quiet hours or for a credential.
            """,
        remedy: """
            wait as `Retry-After` says. Combine receivers of the same message into one audience. Find out why \
            messages do not finish, and cancel those that are no longer needed.
            """)

    package static let shareUsedUp = ProblemCode(
        "share_used_up", 429, "The app has too many concurrent requests",
        cause: """
            the app has reached one of its limits, which protect other apps. Memory: bodies that are still being \
            read, and running imports (1 MiB each), may use as much memory as is left free for all other apps. That \
            is half while no other app sends. Requests without an app, or for an unknown app, share one such limit. \
            Streams: an app may follow messages (`.../events`) 128 times at once. Reads: 64 requests for lists, \
            lookups of tokens, message progress, push histories and large nodes may wait, each for ten seconds. As \
            many may run at once as are left free for other apps, which is two while no other app reads. Answers: \
            those that clients have not read may use as much memory as is left free for other apps. Readers without a \
            key have limits of their own. Key files: 16 may wait to be opened, one at a time. No valid API key: 1,024 \
            requests without one may wait, 512 of one app, and 500 a second are refused with another code.
            """,
        remedy: """
            wait as `Retry-After` says, and send fewer requests at once. Send bodies without pauses: a slow one \
            counts until its end. Keys of the same app share its limits.
            """)

    package static let subtreeTooLarge = ProblemCode(
        "subtree_too_large", 413, "The node is too large for one request",
        cause: """
            a read or a write of a data tree concerns more than 10,000 values, or more than 4 MiB are to be read. Or \
            the paths of all changed nodes are longer than 8 MiB together.
            """,
        remedy: """
            read or write the children one by one. `shallow=true&limit=1000` lists the keys of a large node's children \
            in pages. To replace a large node by something else, remove it first: `DELETE` and `null` have no limit. \
            With `Retry-After`, the node is being removed: repeat the request then.
            """)

    package static let invalidRules = ProblemCode(
        "invalid_rules", 422, "The rules are not valid",
        cause: """
            a node of the read rules is no object, a name is not allowed, or an expression has an unknown name, a wrong \
            operator or too many parts. A hook of subscriptions to items is such an expression.
            """,
        remedy: "correct the rules or the hook at `pointer`; `position` is the character of the expression, from 1.")
}
