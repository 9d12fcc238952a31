extension ProblemCode {
    static let access = ProblemChapter(
        "Authentication, permission and resources",
        [
            unauthorized, forbidden, permissionDenied, notFound, methodNotAllowed, unknownApp, unknownDevice,
            unknownMessage,
            unknownCredential, unknownToken, unknownFeedback, unknownKey, unknownSubscription, feedbackSwept,
        ])

    package static let unauthorized = ProblemCode(
        "unauthorized", 401, "No valid API key",
        cause: """
            the header `Authorization` is missing, is given twice, or has a scheme other than Bearer; or its key is \
            not valid. An import whose key is revoked or expires while it runs ends with this code. Lines after \
            `resume_after` were not imported.
            """,
        remedy: """
            send `Authorization: Bearer <key>`. `POST .../keys` creates keys. The operator's key is in \
            `CARILLON_ADMIN_KEY`, or in `admin-key` in the data folder.
            """)

    package static let forbidden = ProblemCode(
        "forbidden", 403, "The API key lacks permission",
        cause: """
            the key belongs to another app, or it belongs to one app and the route concerns all apps. Or it lacks a \
            scope that the route, the audience or the other key requires; the detail says which. A key can create \
            and revoke only keys whose scopes it has itself. `missing_scopes` lists the scopes of which one is \
            required. A key that may send no messages at all gets `messages` and `broadcast` before the message is \
            read. `messages` covers audiences that name installations, users or tokens; `broadcast` covers all \
            others. What changes a message (edit, rate, pause, resume, cancel, duplicate) needs the scope of its \
            audience.
            """,
        remedy: """
            use a key that has the scope. A key with the scope `keys` can create one: `POST /v1/apps/{app}/keys`.
            """)

    package static let permissionDenied = ProblemCode(
        "permission_denied", 403, "The app's rules forbid it",
        cause: """
            the request has no API key, and the app's read rules do not let its user, or anybody, read this node. \
            Without rules, nothing may be read. Or a user's token subscribes a device to items, or registers it: one of \
            the app's hooks (`triggers.hooks`) denies that or is missing, the device or its token belongs to somebody \
            else, or the registration has members that only a backend may give.
            """,
        remedy: """
            send the token of a user who may read it, change the rules (`PUT .../rules`) or the hooks (`PATCH \
            /v1/apps/{app}`), or use an API key. If a changed device token is denied, the app may remove the \
            installation, register it again and activate its subscriptions anew.
            """)

    package static let notFound = ProblemCode(
        "not_found", 404, "No such route",
        cause: "no route has this path.",
        remedy: "compare the path with `/openapi.yaml`. A trailing slash makes it a different path.")

    package static let methodNotAllowed = ProblemCode(
        "method_not_allowed", 405, "The method is not allowed",
        cause: "the path exists, but not with this method.",
        remedy: "use a method that the header `Allow` lists.")

    package static let unknownApp = ProblemCode(
        "unknown_app", 404, "The app does not exist",
        cause: "no app has this slug.",
        remedy: "`GET /v1/apps` lists the apps, `POST /v1/apps` creates one.")

    package static let unknownDevice = ProblemCode(
        "unknown_device", 404, "The device does not exist",
        cause: """
            no installation with this name is registered in the app, or a user's token names one of another user. An \
            installation that only users' tokens registered is forgotten with its last subscription to items.
            """,
        remedy: "register it, or check that the name is percent-encoded once.")

    package static let unknownMessage = ProblemCode(
        "unknown_message", 404, "The message does not exist",
        cause: "the app has no message with this id.",
        remedy: "use the id from the answer to `POST .../messages`, with the same app.")

    package static let unknownCredential = ProblemCode(
        "unknown_credential", 404, "The credential does not exist",
        cause: "the app has no credential with this id.",
        remedy: "`GET .../credentials` lists the app's credentials.")

    package static let unknownToken = ProblemCode(
        "unknown_token", 404, "No device has this token",
        cause: """
            no live registration of the app has the token. It was never registered, it was replaced or retired, or \
            its spelling differs from the provider's.
            """,
        remedy: "register the token. `POST .../devices/lookup` shows which tokens are known.")

    package static let unknownFeedback = ProblemCode(
        "unknown_feedback", 404, "The feedback entry does not exist",
        cause: "the app's feed has no entry with this id.",
        remedy: "use the `id` of an item of `GET .../feedback`, with the same app.")

    package static let unknownKey = ProblemCode(
        "unknown_key", 404, "The API key does not exist",
        cause: "no key of the app, or no key for all apps, has this id. It may have been revoked already.",
        remedy: "`GET .../keys` lists the keys.")

    package static let unknownSubscription = ProblemCode(
        "unknown_subscription", 404, "The subscription does not exist",
        cause: """
            no subscription of the app has this id, or no subscription of the device this key. It may have expired, or \
            have been revoked or deleted already.
            """,
        remedy: """
            `GET .../wakeup/subscriptions` lists the subscriptions to data, `GET .../devices/{installation}/subscriptions` \
            those of a device to items.
            """)

    package static let feedbackSwept = ProblemCode(
        "feedback_swept", 410, "Entries after the cursor were deleted",
        cause: """
            `after` is so old that entries after it have exceeded their retention (`CARILLON_FEEDBACK_DAYS`) and \
            were deleted. Continuing from there would skip them silently.
            """,
        remedy: """
            start without `after` to read all stored entries. To find what you missed, list `GET \
            .../devices?state=retired` and compare it with your active devices. Read the feed more often, or keep it \
            longer.
            """)
}
