/// The fate that a registration token, an installation id or a topic chooses for itself.
///
/// The fate's name, optionally a colon and a count, then a hyphen and anything: `UNREGISTERED-phone`,
/// `UNAVAILABLE:2-phone` (twice, then accepted). docs/simulator.md has the table.
package enum FCMTokenFate: Equatable, Sendable {
    case refuse(FCMRefusal)
    /// A body that is no JSON of Google's: HTML, or an empty body.
    case page(status: Int, html: Bool)
    case common(CommonFate)
    /// Processed; the body of the 200 is unreadable.
    case garbledSuccess
    /// Refused in a topic call only, with this string.
    case topicError(String)

    struct Entry {
        let name: String
        let fate: FCMTokenFate
        let meaning: String
        /// The error that `iid/v1:batchAdd` reports for it. nil: none.
        var topicError: String?

        init(_ name: String, _ fate: FCMTokenFate, _ meaning: String, topicError: String? = nil) {
            (self.name, self.fate, self.meaning, self.topicError) = (name, fate, meaning, topicError)
        }
    }

    static func of(_ text: String) -> (entry: Entry, count: Int)? {
        let name = text.prefix { ("A"..."Z").contains($0) || ("0"..."9").contains($0) || $0 == "_" }
        guard let entry = table.first(where: { $0.name == name }) else { return nil }
        var remaining = text.dropFirst(name.count)
        if remaining.first == "-" { return (entry, 0) }
        guard remaining.first == ":" else { return nil }
        remaining = remaining.dropFirst()
        let digits = remaining.prefix { ("0"..."9").contains($0) }
        guard let count = Int(digits), count <= countMax, remaining.dropFirst(digits.count).first == "-" else {
            return nil
        }
        return (entry, count)
    }

    private static let countMax = 1_000_000

    static let table: [Entry] = refusals + waits + withoutCode + pages + odd + topicErrors
}

extension FCMTokenFate {
    private static func entry(
        _ name: String, _ refusal: FCMRefusal, _ meaning: String? = nil, topicError: String? = nil
    ) -> Entry {
        Entry(name, .refuse(refusal), meaning ?? "\(refusal.status) \(refusal.reason)", topicError: topicError)
    }

    private static let refusals: [Entry] = [
        entry(
            "UNREGISTERED", FCMRefusal(404, "NOT_FOUND", "UNREGISTERED", "Requested entity was not found."),
            "404 NOT_FOUND with UNREGISTERED", topicError: "NOT_FOUND"),
        entry(
            "SENDER_ID_MISMATCH", FCMRefusal(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH", "SenderId mismatch"),
            "403 PERMISSION_DENIED with SENDER_ID_MISMATCH", topicError: "PERMISSION_DENIED"),
        entry(
            "INVALID_TOKEN", .invalidToken, "400 INVALID_ARGUMENT with FcmError and the text about the token",
            topicError: "INVALID_ARGUMENT"),
        entry(
            "INVALID_TOKEN_FIELD", .badArgument("Invalid registration token", field: "message.token"),
            "400 INVALID_ARGUMENT with FcmError, and a BadRequest that names message.token",
            topicError: "INVALID_ARGUMENT"),
        entry(
            "INVALID_PAYLOAD", .badField("message.data[0].value", "Invalid value at 'message.data[0].value'"),
            "400 INVALID_ARGUMENT with a BadRequest that names a field of the payload, and no FcmError"),
        entry(
            "MESSAGE_TOO_BIG", .badArgument("Android message is too big"),
            "400 INVALID_ARGUMENT with FcmError, and the text of a message too big"),
        entry(
            "INVALID_TTL", .badArgument("Invalid TTL"), "400 INVALID_ARGUMENT with FcmError, and the text of a bad TTL"),
        entry(
            "THIRD_PARTY_AUTH_ERROR",
            FCMRefusal(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR", "Auth error from APNS or Web Push Service"),
            "401 UNAUTHENTICATED with THIRD_PARTY_AUTH_ERROR"),
        entry(
            "APNS_AUTH_ERROR",
            FCMRefusal(401, "UNAUTHENTICATED", "APNS_AUTH_ERROR", "Auth error from APNS or Web Push Service"),
            "the same by its older name"),
        entry(
            "INTERNAL", FCMRefusal(500, "INTERNAL", "INTERNAL", "Internal error encountered."), topicError: "INTERNAL"),
        entry(
            "UNSPECIFIED_ERROR_400",
            FCMRefusal(400, "INVALID_ARGUMENT", "UNSPECIFIED_ERROR", "No more information is available.")),
        entry(
            "UNSPECIFIED_ERROR_500",
            FCMRefusal(500, "UNKNOWN", "UNSPECIFIED_ERROR", "No more information is available.")),
        entry(
            "UNKNOWN_CODE_400", FCMRefusal(400, "FAILED_PRECONDITION", "CODE_OF_TOMORROW", "Not today."),
            "400 with an unknown error code"),
        entry(
            "UNKNOWN_CODE_503", FCMRefusal(503, "UNAVAILABLE", "CODE_OF_TOMORROW", "Not today."),
            "503 with an unknown error code"),
    ]

    private static func quota(_ subject: String?, _ wait: FCMRefusal.RetryAfterHeader? = nil) -> FCMRefusal {
        FCMRefusal(
            429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", "Quota exceeded for quota metric 'Send requests'.",
            quotaSubject: subject, retryAfter: wait)
    }

    private static func unavailable(_ wait: FCMRefusal.RetryAfterHeader? = nil) -> FCMRefusal {
        FCMRefusal(503, "UNAVAILABLE", "UNAVAILABLE", "The service is currently unavailable.", retryAfter: wait)
    }

    private static let waits: [Entry] = [
        entry("QUOTA_EXCEEDED", quota(nil), topicError: "RESOURCE_EXHAUSTED"),
        entry("QUOTA_EXCEEDED_SECONDS", quota(nil, .seconds(2)), "429 QUOTA_EXCEEDED with Retry-After: 2"),
        entry(
            "QUOTA_EXCEEDED_DATE", quota(nil, .date(secondsAhead: 2)),
            "429 QUOTA_EXCEEDED with Retry-After: an HTTP date 2 s ahead"),
        entry(
            "QUOTA_EXCEEDED_PROJECT", quota("project:carillon"), "429 QUOTA_EXCEEDED, and a QuotaFailure of the project"
        ),
        entry("QUOTA_EXCEEDED_DEVICE", quota("device"), "429 QUOTA_EXCEEDED, and a QuotaFailure of the device"),
        entry("QUOTA_EXCEEDED_TOPIC", quota("topic"), "429 QUOTA_EXCEEDED, and a QuotaFailure of the topic"),
        entry("UNAVAILABLE", unavailable()),
        entry("UNAVAILABLE_SECONDS", unavailable(.seconds(2)), "503 UNAVAILABLE with Retry-After: 2"),
        entry(
            "UNAVAILABLE_DATE", unavailable(.date(secondsAhead: 2)),
            "503 UNAVAILABLE with Retry-After: an HTTP date 2 s ahead"),
    ]

    private static let withoutCode: [Entry] = [
        entry("UNAUTHENTICATED", .unauthenticated, "401 UNAUTHENTICATED without FcmError: as an expired access token"),
        entry(
            "PERMISSION_DENIED", .permissionDenied, "403 PERMISSION_DENIED without FcmError: as a missing role",
            topicError: "PERMISSION_DENIED"),
        entry("NOT_FOUND", .notFound, "404 NOT_FOUND without FcmError: as a wrong project", topicError: "NOT_FOUND"),
    ]

    private static func page(_ status: Int, html: Bool) -> Entry {
        Entry(
            (html ? "HTML_" : "EMPTY_") + String(status), .page(status: status, html: html),
            html ? "\(status) with a page of HTML" : "\(status) without a body")
    }

    private static let pages: [Entry] = [
        page(404, html: true), page(429, html: true), page(500, html: true), page(502, html: true),
        page(503, html: true), page(500, html: false), page(502, html: false), page(503, html: false),
    ]

    private static let odd: [Entry] = [
        Entry("SLOW", .common(.slow), "accepted, answered late (5 s)"),
        Entry(
            "RESET", .common(.reset), "RST_STREAM INTERNAL_ERROR, over HTTP/1.1 the connection's reset; not processed"),
        Entry(
            "REFUSED_STREAM", .common(.refuseStream),
            "RST_STREAM REFUSED_STREAM, over HTTP/1.1 the connection's reset; not processed"),
        Entry("SILENT", .common(.silence), "no answer; not processed"),
        Entry("LOST_ANSWER", .common(.loseAnswer), "accepted, the answer is lost"),
        Entry("RESET_AFTERWARDS", .common(.resetAfterwards), "accepted, reset instead of an answer"),
        Entry("DROP_AFTERWARDS", .common(.dropAfterwards), "accepted, the connection is dropped instead of an answer"),
        Entry("GARBLED", .garbledSuccess, "accepted, with a 200 whose body is not JSON"),
    ]

    private static let topicErrors: [Entry] = ["TOO_MANY_TOPICS", "DEADLINE_EXCEEDED", "UNKNOWN"].map { name in
        Entry(name, .topicError(name), "accepts messages; a topic call says \(name)", topicError: name)
    }
}
