import Content

// Refusals of well-formed requests that ask for something impossible.
extension ProblemCode {
    static let values = ProblemChapter(
        "The request asks for something that can't be",
        [
            missingMember, unknownMember, wrongType, invalidValue, valueTooLong, invalidFilter, invalidTemplate,
            invalidToken, kindNotAllowed, notSupported, routeNotSupported, tooManyTopics, slugTaken, keyNameTaken,
            tooManyKeys, conflict, notARetirement, tokenReplaced, tokenMoved, messageOver, idempotencyMismatch,
            backlogFull, shareUsedUp,
        ])

    package static let missingMember = ProblemCode(
        "missing_member", 422, "A member is missing",
        cause: "something that has to be said is absent or null.",
        remedy: "add the member at `pointer`.")

    package static let unknownMember = ProblemCode(
        "unknown_member", 422, "A member is unknown",
        cause: """
            an object has a member that means nothing here; a misspelt one would otherwise be lost in silence.
            """,
        remedy:
            "correct or remove the member at `pointer`. A provider's own members belong into `apns` or `fcm`.")

    package static let wrongType = ProblemCode(
        "wrong_type", 422, "A value has the wrong type",
        cause: "a string where a number is expected, and the like.",
        remedy: "send the type that the detail names.")

    package static let invalidValue = ProblemCode(
        "invalid_value", 422, "A value is not allowed",
        cause: """
            the type is right, the value is not: an unknown word, a number out of range, a time that is none, \
            characters that can't stand there.
            """,
        remedy: "the detail says what is allowed.")

    package static let valueTooLong = ProblemCode(
        "value_too_long", 422, "A value is too long",
        cause: "a text, a list or an object is larger than what is taken or kept of it.",
        remedy: "shorten it; the detail names the bound. A patch of many attributes is sent as several.")

    package static let invalidFilter = ProblemCode(
        "invalid_filter", 422, "The filter can't be understood",
        cause: """
            a filter is not written as filters are, names something that is no field, asks a field what it \
            can't be asked, or asks for more than one filter may.
            """,
        remedy: """
            the detail says at which character, and what is expected there; `position` is the same number. \
            docs/filters.md has the whole language.
            """)

    package static let invalidTemplate = ProblemCode(
        "invalid_template", 422, "A text with {{ }} can't be understood",
        cause: """
            a text of the message has `{{`, and what follows is no field with or without a default, or the \
            braces are never closed; or it stands where nothing is filled in: in a name, a header, \
            `collapse_id`; or there are too many: \(TemplateLimits.placeholdersPerTextMax) holes in one text are \
            allowed, and in a message \(TemplateLimits.placeholdersPerMessageMax), of which \
            \(TemplateLimits.placeholdersMax) may differ in field or default, with \(TemplateLimits.fieldsMax) \
            different fields.
            """,
        remedy: """
            write `{{attributes.name | default: 'you'}}`; the detail says at which character, and what is \
            expected there. Two braces that are meant as such are written `{{'{{'}}`. docs/templates.md has \
            the whole language.
            """)

    package static let invalidToken = ProblemCode(
        "invalid_token", 422, "The device token is malformed",
        cause: """
            an APNs token that is not an even number of hexadecimal digits, often because of blanks, angle \
            brackets or base64; or an FCM token with blanks, line ends or other characters than visible ASCII.
            """,
        remedy: """
            for APNs send the bytes of the device token as hexadecimal digits; for FCM the token as the library \
            gave it to the app. Their length is not checked: providers change it.
            """)

    package static let kindNotAllowed = ProblemCode(
        "kind_not_allowed", 422, "The provider has no tokens of this kind",
        cause: """
            a `kind` other than alert for a provider whose installations have one token for every kind of push, \
            as FCM's do.
            """,
        remedy: "leave `kind` out; kinds are for APNs, which gives a token for each.")

    package static let notSupported = ProblemCode(
        "not_supported", 422, "This is not offered",
        cause: """
            the member or value is part of the contract, and this version does not carry it out. Ignoring it \
            would do something else than was asked.
            """,
        remedy: "leave it out, or use a version that has it.")

    package static let routeNotSupported = ProblemCode(
        "route_not_supported", 501, "This route is not served yet",
        cause: """
            the route is part of the product's contract, and this version does not carry it out: `/metrics`, \
            events and pace of messages, verify and rollback of credentials, webhooks, \
            the audit log.
            """,
        remedy: "the detail says what to do meanwhile; `/openapi.yaml` lists what is served.")

    package static let tooManyTopics = ProblemCode(
        "too_many_topics", 422, "The app has too many topics",
        cause: """
            registrations and messages of the app name as many topics as an app may have (1,000). Each is a way \
            of its own for pushes; without a bound one app could slow down all.
            """,
        remedy: """
            name bundle ids as topics, not devices or users. The other registrations of the request or import \
            are not touched by this.
            """)

    package static let slugTaken = ProblemCode(
        "slug_taken", 409, "The slug is taken",
        cause: "another app, with another name, has this slug.",
        remedy: "choose another slug. Making the same app twice is no error: the second answer is 200.")

    package static let keyNameTaken = ProblemCode(
        "key_name_taken", 409, "Another API key has this name",
        cause: """
            names of keys are their own within an app, so that a request whose answer was lost makes no second \
            key.
            """,
        remedy: """
            choose another name; or, where the answer was lost and the key with it, revoke that one and make it \
            again.
            """)

    package static let tooManyKeys = ProblemCode(
        "too_many_keys", 409, "There are as many API keys as there may be",
        cause: """
            an app has a thousand keys already, or there are a thousand for all apps. Keys are for clients, not \
            for devices.
            """,
        remedy: "revoke those that nobody uses; `last_used_at` tells.")

    package static let conflict = ProblemCode(
        "conflict", 409, "What is stored forbids this",
        cause: "the request contradicts something that was stored meanwhile.",
        remedy: "read what is stored, and decide again.")

    package static let notARetirement = ProblemCode(
        "not_a_retirement", 409, "This entry retired no token",
        cause: "an undo of an entry of the feed whose verdict is not retired.",
        remedy: """
            undo the entry that retired the token; a suspected one comes back by itself when it works, or when \
            the app registers again.
            """)

    package static let tokenReplaced = ProblemCode(
        "token_replaced", 409, "The device has another token now",
        cause: """
            since the token was retired, the installation registered another one of the same kind, or moved to \
            another topic or environment.
            """,
        remedy: "none is needed: the device is reached by its new token.")

    package static let tokenMoved = ProblemCode(
        "token_moved", 409, "The token lives elsewhere now",
        cause: """
            since it was retired, another installation of the app registered the token. One token belongs to one \
            installation.
            """,
        remedy: "`POST .../devices/lookup` tells which; remove that device first if it is the wrong one.")

    package static let messageOver = ProblemCode(
        "message_over", 409, "The message is over",
        cause: """
            a message that is finished or cancelled was to be paused, resumed or cancelled, or to have another \
            rate. Cancelling one that is cancelled is no error, nor is pausing one that is paused.
            """,
        remedy: "none is needed: nothing of it will be sent. What was cancelled is sent again as a new message.")

    package static let idempotencyMismatch = ProblemCode(
        "idempotency_mismatch", 422, "The Idempotency-Key came with another request before",
        cause: """
            a key stands for one request of an app and route for 48 hours; this request differs from it by at \
            least a byte.
            """,
        remedy: "repeat a request exactly as it was, or take a fresh key for a new one.")

    package static let backlogFull = ProblemCode(
        "backlog_full", 429, "Too many messages of this app are unfinished",
        cause: """
            the app has as many unfinished messages as it may have: of those that name at most 100 receivers, \
            or of broadcasts, which are counted apart and keep no single push out. Scheduled and paused ones \
            count, and those that wait for the end of quiet hours or for a credential.
            """,
        remedy: """
            wait as `Retry-After` says; join receivers of the same message in one audience; find out why \
            messages do not finish, and cancel what nobody needs any more.
            """)

    package static let shareUsedUp = ProblemCode(
        "share_used_up", 429, "The app has too much under way",
        cause: """
            requests of this app whose bodies are still being read, and its imports that run (each counts as \
            1 MiB), hold as much of the memory for bodies as one app may: at most as much as is left free \
            for all others, which is half while nobody else sends. Requests that are about no app, or name one that \
            there is not, hold one such share together. Or the app follows messages (`.../events`) 128 times at \
            once. Or 64 of its requests for lists, and for where messages and pushes stand, wait for their turn, \
            or one has waited ten seconds: as many at once of the app are read as it leaves to others, two \
            while nobody else asks. Or 16 of its key files wait to be opened, which happens one at a time.
            """,
        remedy: """
            wait as `Retry-After` says, and send fewer at once. Send bodies whole, without pauses: one that \
            comes slowly is counted until its end. Keys of the same app share what it has.
            """)
}
