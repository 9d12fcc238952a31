// Refusals that concern the key, the path or the resource.
extension ProblemCode {
    static let access = ProblemChapter(
        "Who asks, and for what",
        [
            unauthorized, forbidden, notFound, methodNotAllowed, unknownApp, unknownDevice, unknownMessage,
            unknownCredential, unknownToken, unknownFeedback, unknownKey, feedbackSwept,
        ])

    package static let unauthorized = ProblemCode(
        "unauthorized", 401, "No valid API key",
        cause: """
            the header `Authorization` is missing, stands there twice, has another scheme than Bearer, or its \
            key is not valid. An import whose key is revoked or expires while it runs ends with this code; \
            what stands behind `resume_after` was not taken.
            """,
        remedy: """
            send `Authorization: Bearer <key>`. Keys are made by `POST .../keys`; the operator's stands in \
            `CARILLON_ADMIN_KEY`, or in `admin-key` in the data folder.
            """)

    package static let forbidden = ProblemCode(
        "forbidden", 403, "The API key does not open this",
        cause: """
            the key belongs to another app, or to one app where the route is about all of them; or it has not \
            the scope that the route or the audience asks for, or not every scope of the key that it would \
            make or revoke: a key makes and revokes only what opens no more than itself. The detail names it. \
            `missing_scopes` names the scopes of which one is asked for: by the route, by the audience, or by the other \
            key. Whoever may send no messages at all is told `messages` and `broadcast` before the message is \
            read: the first is for audiences that name installations, users or tokens, the second for all others.
            """,
        remedy: "use a key that has it. Whoever has the scope `keys` makes one: `POST /v1/apps/{app}/keys`.")

    package static let notFound = ProblemCode(
        "not_found", 404, "There is nothing here",
        cause: "no route has this path.",
        remedy: "compare it with `/openapi.yaml`; a slash at the end makes another path.")

    package static let methodNotAllowed = ProblemCode(
        "method_not_allowed", 405, "This method is not served here",
        cause: "the path exists, with other methods.",
        remedy: "use one of those in the header `Allow`.")

    package static let unknownApp = ProblemCode(
        "unknown_app", 404, "There is no such app",
        cause: "no app has this slug.",
        remedy: "`GET /v1/apps` lists the apps, `POST /v1/apps` makes one.")

    package static let unknownDevice = ProblemCode(
        "unknown_device", 404, "There is no such device",
        cause: "no installation of this name is registered with the app.",
        remedy: "register it; check that the name is percent-encoded once.")

    package static let unknownMessage = ProblemCode(
        "unknown_message", 404, "There is no such message",
        cause: "the app has no message of this id.",
        remedy: "use the id that `POST .../messages` answered, with the same app.")

    package static let unknownCredential = ProblemCode(
        "unknown_credential", 404, "There is no such credential",
        cause: "the app has no credential of this id.",
        remedy: "`GET .../credentials` lists them.")

    package static let unknownToken = ProblemCode(
        "unknown_token", 404, "No device has this token",
        cause: """
            no live registration of the app has the token: it was never registered, was replaced or retired, or \
            is written in another way than its provider writes it.
            """,
        remedy: "register it; `POST .../devices/lookup` tells which tokens are known.")

    package static let unknownFeedback = ProblemCode(
        "unknown_feedback", 404, "There is no such entry in the feed",
        cause: "the app's feed has no entry of this id.",
        remedy: "use the `id` of an item of `GET .../feedback`, with the same app.")

    package static let unknownKey = ProblemCode(
        "unknown_key", 404, "There is no such API key",
        cause: "no key of the app, or among those of all apps, has this id; it may have been revoked already.",
        remedy: "`GET .../keys` lists them.")

    package static let feedbackSwept = ProblemCode(
        "feedback_swept", 410, "Entries after the cursor are gone",
        cause: """
            `after` is so old that retention (`CARILLON_FEEDBACK_DAYS`) took entries that came after it. Going \
            on from there would skip them in silence.
            """,
        remedy: """
            start without `after`, which gives all that is kept. What is missing is told by `GET \
            .../devices?state=retired`, and by a look at each device that you hold for live. Read the feed more \
            often, or keep it for longer.
            """)
}
