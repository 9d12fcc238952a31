import Model

/// One documented answer.
struct APNsReasonRow: Equatable, Sendable {
    enum Meaning: Equatable, Sendable {
        case rejected(RejectionFault)
        case deferred(DeferralReason)
    }

    let status: Int
    let reason: String
    let meaning: Meaning
    /// Not sooner than this after the answer; nil leaves it to the retry policy.
    let after: Duration?
    let connection: ConnectionAdvice
    let alarm: ProviderAlarm?
}

/// The one table of APNs' answers. Source: "Handling notification responses from APNs", and what operators saw.
///
/// Only the rows of `tokenUnregistered`, `tokenSuspect` and `tokenUnknownHere` say anything about a token (P5).
enum APNsRejections {
    /// Apple suggests 15 minutes after a 5xx; libraries wait 10 s. We begin there, and the retry policy doubles up to
    /// Apple's 15 minutes: a short trouble of theirs should not cost a one-time password its meaning.
    static let busyFloor: Duration = .seconds(10)
    /// One device gets too many: the others of the connection are none the slower.
    static let deviceFloor: Duration = .seconds(60)
    /// Between two new provider tokens lie 20 minutes; what is told sooner is that we went too fast, or APNs erred.
    static let tokenUpdatesFloor: Duration = .seconds(60)

    static let rows: [APNsReasonRow] = [
        // The sender's own values, which our door checks: nobody else's push suffers.
        refused(400, "BadCollapseId", .message),
        refused(400, "BadExpirationDate", .message),
        refused(400, "BadPriority", .message),
        refused(400, "InvalidPushType", .message),
        refused(413, "PayloadTooLarge", .message),
        // The topic's form: it came with the registration.
        refused(400, "BadTopic", .message, alarm: .credential),

        // About the token, and no proof yet: malformed, or simply of the other environment, or of another app. A whole
        // batch of these is a setting of ours gone wrong, so it is confirmed before a token is retired.
        refused(400, "BadDeviceToken", .tokenUnknownHere),
        refused(400, "DeviceTokenNotForTopic", .tokenSuspect),

        // About the token, as sure as it gets; `timestamp` says since when. Without one it is dead as of the lease. One
        // that can't be read (no whole number of at most 15 digits, null too) only raises a doubt: it may say that the
        // token died before it was registered again, and nobody can tell (P5).
        refused(410, "Unregistered", .tokenUnregistered),
        refused(410, "ExpiredToken", .tokenUnregistered),

        // Requests that we should never build.
        refused(400, "BadMessageId", .ours, alarm: .ourRequest),
        refused(400, "DuplicateHeaders", .ours, alarm: .ourRequest),
        refused(400, "MissingDeviceToken", .ours, alarm: .ourRequest),
        refused(400, "PayloadEmpty", .ours, alarm: .ourRequest),
        refused(404, "BadPath", .ours, alarm: .ourRequest),
        refused(405, "MethodNotAllowed", .ours, alarm: .ourRequest),

        // About the credential: the lane pauses, its pushes wait until someone mends it.
        waits(400, "TopicDisallowed", .credentialRefused, alarm: .credential),
        // Only for certificates of several topics, where a registration names none.
        waits(400, "MissingTopic", .credentialRefused, alarm: .credential),
        waits(403, "BadCertificate", .credentialRefused, connection: .close, alarm: .credential),
        waits(403, "BadCertificateEnvironment", .credentialRefused, connection: .close, alarm: .credential),
        // A revoked key, an account in trouble.
        waits(403, "Forbidden", .credentialRefused, connection: .close, alarm: .credential),
        // A wrong signature, key id or team.
        waits(403, "InvalidProviderToken", .credentialRefused, connection: .close, alarm: .credential),
        waits(403, "MissingProviderToken", .credentialRefused, connection: .close, alarm: .ourRequest),
        // The key is of the other environment. Two spellings are known.
        waits(403, "BadEnvironmentKeyIdInToken", .credentialRefused, connection: .close, alarm: .credential),
        waits(403, "BadEnvironmentKeyInToken", .credentialRefused, connection: .close, alarm: .credential),

        // The provider token: a new one, on a new connection, since the old one stays unusable ("wedged") even with it.
        waits(403, "ExpiredProviderToken", .providerTokenExpired, connection: .close, alarm: .clock),
        // Another key bound this connection first. The same token is good on a connection of its own.
        waits(403, "UnrelatedKeyIdInToken", .providerTokenExpired, connection: .close),
        // Keep the token, sign no other. Comes from Apple's side without cause at times.
        waits(429, "TooManyProviderTokenUpdates", .laneThrottled, after: tokenUpdatesFloor, alarm: .keyShared),

        // Too many to this one device.
        waits(429, "TooManyRequests", .deviceThrottled, after: deviceFloor),

        // The connection's end, not the push's fault.
        waits(400, "IdleTimeout", .providerBusy, connection: .close),
        waits(503, "Shutdown", .providerBusy, connection: .replace),

        // Apple's trouble.
        waits(500, "InternalServerError", .providerBusy, after: busyFloor),
        waits(503, "ServiceUnavailable", .providerUnavailable, after: busyFloor),
        waits(503, "Service Unavailable", .providerUnavailable, after: busyFloor),
    ]

    /// For a reason that is not in the table, or none at all: the status speaks.
    static func row(forStatus status: Int, hasReason: Bool) -> APNsReasonRow {
        switch status {
        // Any refusal that names no token is no verdict about one. A 410 with a reason is APNs speaking, in a word that
        // it invented since; without one it may be anybody in between.
        case 410: refused(status, "", hasReason ? .tokenUnregistered : .tokenSuspect)
        case 401, 403, 407: waits(status, "", .credentialRefused, connection: .close, alarm: .credential)
        case 404, 405: refused(status, "", .ours, alarm: .ourRequest)
        case 408, 425: waits(status, "", .providerBusy)
        case 429: waits(status, "", .laneThrottled, after: busyFloor)
        case 400..<500: refused(status, "", .message)
        case 503: waits(status, "", .providerUnavailable, after: busyFloor)
        case 500..<600: waits(status, "", .providerBusy, after: busyFloor)
        // No answer of APNs: a redirect, say, of somebody in between.
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
