import Model
import ProviderInterface

struct APNsReasonRow: Equatable, Sendable {
    let status: Int
    let reason: String
    let meaning: AnswerMeaning
    /// The earliest retry after the answer; nil leaves it to the retry policy.
    let after: Duration?
    let connection: ConnectionAdvice
    let alarm: ProviderAlarm?
}

/// The one table of APNs' answers. Source: "Handling notification responses from APNs", and what operators saw.
///
/// Only the rows of `tokenUnregistered`, `tokenSuspect`, `tokenElsewhere` and `tokenUnknownHere` are verdicts about a
/// token (P5).
enum APNsRejections {
    /// Apple suggests 15 minutes after a 5xx; libraries wait 10 s. We begin there, and the retry policy doubles up to
    /// Apple's 15 minutes: a short fault of theirs should not outlast a one-time password.
    static let busyFloor: Duration = .seconds(10)
    /// Too many pushes to one device: the connection's other pushes are not slowed.
    static let deviceFloor: Duration = .seconds(60)
    /// New provider tokens must be 20 minutes apart. A refusal means that we were too fast, or that APNs erred.
    static let tokenUpdatesFloor: Duration = .seconds(60)

    /// The wait of a push whose credential is refused while other pushes are accepted.
    static let refusedPause: Duration = .seconds(15)
    /// "The specified action is not allowed." The push or the account is at fault, depending on the answers to others.
    static let forbidden = "Forbidden"

    static let rows: [APNsReasonRow] = [
        // The sender's own values, which validation checks. No other push suffers.
        refused(400, "BadCollapseId", .message),
        refused(400, "BadExpirationDate", .message),
        refused(400, "BadPriority", .message),
        refused(400, "InvalidPushType", .message),
        refused(413, "PayloadTooLarge", .message),
        // The topic's form: it came with the registration.
        refused(400, "BadTopic", .message, alarm: .credential),

        // Suspicions about the token, without proof: malformed, or of the other environment, or of another app. A whole
        // batch of these is our own wrong setting, so they are confirmed before a token is retired.
        refused(400, "BadDeviceToken", .tokenUnknownHere),
        refused(400, "DeviceTokenNotForTopic", .tokenElsewhere),

        // Verdicts about the token, as sure as they get; `timestamp` gives the time. Without one the token is dead as
        // of the lease. An unreadable one (no whole number of at most 15 digits, or null) only raises a suspicion. The
        // token may have died before it was registered again (P5).
        refused(410, "Unregistered", .tokenUnregistered),
        refused(410, "ExpiredToken", .tokenUnregistered),

        // Requests that we should never build.
        refused(400, "BadMessageId", .ours, alarm: .ourRequest),
        refused(400, "DuplicateHeaders", .ours, alarm: .ourRequest),
        refused(400, "MissingDeviceToken", .ours, alarm: .ourRequest),
        refused(400, "PayloadEmpty", .ours, alarm: .ourRequest),
        refused(404, "BadPath", .ours, alarm: .ourRequest),
        refused(405, "MethodNotAllowed", .ours, alarm: .ourRequest),

        // Faults of the credential: the lane pauses, and its pushes wait for a corrected one.
        waits(400, "TopicDisallowed", .credentialRefused, alarm: .credential),
        // Occurs only with certificates of several topics, if a registration names none.
        waits(400, "MissingTopic", .credentialRefused, alarm: .credential),
        waits(403, "BadCertificate", .credentialRefused, connection: .close, alarm: .credential),
        waits(403, "BadCertificateEnvironment", .credentialRefused, connection: .close, alarm: .credential),
        // A revoked key, an account in trouble, or a push that is not allowed.
        waits(403, forbidden, .credentialRefused, connection: .close, alarm: .credential),
        // A wrong signature, key id or team.
        waits(403, "InvalidProviderToken", .credentialRefused, connection: .close, alarm: .credential),
        waits(403, "MissingProviderToken", .credentialRefused, connection: .close, alarm: .ourRequest),
        // The key is for the other environment. Two spellings are known.
        waits(403, "BadEnvironmentKeyIdInToken", .credentialRefused, connection: .close, alarm: .credential),
        waits(403, "BadEnvironmentKeyInToken", .credentialRefused, connection: .close, alarm: .credential),

        // A new provider token on a new connection: the old connection stays unusable ("wedged") even with the new
        // token.
        waits(403, "ExpiredProviderToken", .providerTokenExpired, connection: .close, alarm: .clock),
        // Another key bound this connection first. The same token is good on a connection of its own.
        waits(403, "UnrelatedKeyIdInToken", .providerTokenExpired, connection: .close),
        // We keep the token and sign no other. APNs sends this without cause at times.
        waits(429, "TooManyProviderTokenUpdates", .laneThrottled, after: tokenUpdatesFloor, alarm: .keyShared),

        waits(429, "TooManyRequests", .deviceThrottled, after: deviceFloor),

        // The end of the connection, not a fault of the push.
        waits(400, "IdleTimeout", .providerBusy, connection: .close),
        waits(503, "Shutdown", .providerBusy, connection: .replace),

        waits(500, "InternalServerError", .providerBusy, after: busyFloor),
        waits(503, "ServiceUnavailable", .providerUnavailable, after: busyFloor),
        waits(503, "Service Unavailable", .providerUnavailable, after: busyFloor),
    ]

    /// Returns the row for the status alone, if the reason is missing or not in the table.
    static func row(forStatus status: Int, hasReason: Bool) -> APNsReasonRow {
        switch status {
        // A refusal that names no token is no verdict about one. A 410 with a reason comes from APNs, with a new
        // reason. Without one, it may come from a proxy in between.
        case 410: refused(status, "", hasReason ? .tokenUnregistered : .tokenSuspect)
        case 401, 403, 407: waits(status, "", .credentialRefused, connection: .close, alarm: .credential)
        case 404, 405: refused(status, "", .ours, alarm: .ourRequest)
        case 408, 425: waits(status, "", .providerBusy)
        case 429: waits(status, "", .laneThrottled, after: busyFloor)
        case 400..<500: refused(status, "", .message)
        case 503: waits(status, "", .providerUnavailable, after: busyFloor)
        case 500..<600: waits(status, "", .providerBusy, after: busyFloor)
        // Not an answer of APNs: a redirect, for example, of a proxy in between.
        default: waits(status, "", .providerBusy, after: busyFloor)
        }
    }

    private static func refused(
        _ status: Int, _ reason: String, _ fault: RejectionFault, alarm: ProviderAlarm? = nil
    ) -> APNsReasonRow {
        APNsReasonRow(
            status: status, reason: reason, meaning: .rejected(fault), after: nil, connection: .keep, alarm: alarm)
    }

    private static func waits(
        _ status: Int, _ reason: String, _ why: DeferralReason, after: Duration? = nil,
        connection: ConnectionAdvice = .keep, alarm: ProviderAlarm? = nil
    ) -> APNsReasonRow {
        APNsReasonRow(
            status: status, reason: reason, meaning: .deferred(why), after: after, connection: connection, alarm: alarm)
    }
}
