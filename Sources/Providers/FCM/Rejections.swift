import Model
import ProviderInterface

struct FCMErrorRow: Equatable, Sendable {
    /// The other requirement of a row on its answer; rows are tried in their order.
    enum Condition: Equatable, Sendable {
        case always
        case httpStatus(Int)
        /// The answer blames the token's text alone (4.1 of the protocol reference: the two shapes).
        case tokenIsSuspected
        case deviceQuota
    }

    let reason: String
    let condition: Condition
    let meaning: AnswerMeaning
    /// The earliest retry after the answer, unless Retry-After says otherwise; nil leaves it to the retry policy.
    let after: Duration?
    let connection: ConnectionAdvice
    let alarm: ProviderAlarm?

    /// A name that is unique in its table.
    var name: String {
        switch condition {
        case .always: reason
        case .httpStatus(let status): "\(reason) with \(status)"
        case .tokenIsSuspected: "\(reason) about the token"
        case .deviceQuota: "\(reason) about the device"
        }
    }
}

/// The one table of FCM's answers. Source: "FCM error codes" (v1), google.rpc.Code, and what operators saw.
///
/// Only the rows of `tokenUnregistered`, `tokenSuspect` and `tokenElsewhere` are verdicts about a token (P5).
enum FCMRejections {
    /// Google asks for 60 s after a 429 without Retry-After.
    static let quotaFloor: Duration = .seconds(60)
    /// Google asks for 10 s after a 5xx.
    static let busyFloor: Duration = .seconds(10)
    /// Even a Retry-After of zero gets a pause.
    static let waitMin: Duration = .seconds(1)

    /// Answers with an FcmError detail: FCM itself judges this push. These rows are tried first.
    static let codes: [FCMErrorRow] = [
        // A verdict about the token, as sure as it gets: FCM's 410. docs/decisions/0011 explains it, and why on a 404
        // only.
        refused("UNREGISTERED", .tokenUnregistered, if: .httpStatus(404)),
        refused("UNREGISTERED", .tokenSuspect),

        // A suspicion about the token, without proof: it is of another project. A whole batch of these is our own wrong
        // credential, so they are confirmed before a token is retired.
        refused("SENDER_ID_MISMATCH", .tokenElsewhere),
        // A malformed token, or a wrong field of the sender's: a payload's error must never cost devices.
        refused("INVALID_ARGUMENT", .tokenSuspect, if: .tokenIsSuspected),
        refused("INVALID_ARGUMENT", .message),

        // The APNs key or web push credential that the project's owner gave Google, for devices of that kind only. Lane
        // and token are good, but the push would be refused until an operator corrects it there. Google asks not to
        // retry. The second is its older name.
        refused("THIRD_PARTY_AUTH_ERROR", .message, alarm: .credential),
        refused("APNS_AUTH_ERROR", .message, alarm: .credential),

        // Too many pushes to this one device; the others are not slowed.
        waits("QUOTA_EXCEEDED", .deviceThrottled, if: .deviceQuota, after: quotaFloor),
        // The project's rate, or a topic's.
        waits("QUOTA_EXCEEDED", .laneThrottled, after: quotaFloor),

        waits("UNAVAILABLE", .providerUnavailable, after: busyFloor),
        waits("INTERNAL", .providerBusy, after: busyFloor),
        // UNSPECIFIED_ERROR says nothing, and so has no row: the status decides.
    ]

    /// Answers without an FcmError, by status: they come from Google's front end, which knows nothing of tokens.
    static let statuses: [FCMErrorRow] = [
        refused("INVALID_ARGUMENT", .tokenSuspect, if: .tokenIsSuspected),
        refused("INVALID_ARGUMENT", .message),
        refused("OUT_OF_RANGE", .message),

        // Our access token is refused: a new one works on the same connection, which has no memory of the old one.
        waits("UNAUTHENTICATED", .providerTokenExpired),
        // The API is not enabled, the account lacks its role, or billing: the lane pauses, and its pushes wait.
        waits("PERMISSION_DENIED", .credentialRefused, connection: .close, alarm: .credential),
        // Probably no such project. This is never a verdict about a token: a mistyped project would delete all of them.
        // The route pauses and its pushes wait, while the connection and its other answers stay.
        waits("NOT_FOUND", .credentialRefused, alarm: .credential),

        waits("RESOURCE_EXHAUSTED", .deviceThrottled, if: .deviceQuota, after: quotaFloor),
        waits("RESOURCE_EXHAUSTED", .laneThrottled, after: quotaFloor),

        waits("UNAVAILABLE", .providerUnavailable, after: busyFloor),
        waits("INTERNAL", .providerBusy, after: busyFloor),
        waits("DEADLINE_EXCEEDED", .providerBusy, after: busyFloor),
        waits("UNKNOWN", .providerBusy, after: busyFloor),
        waits("DATA_LOSS", .providerBusy, after: busyFloor),
        waits("ABORTED", .providerBusy, after: busyFloor),
        waits("CANCELLED", .providerBusy, after: busyFloor),

        // The method does not exist.
        refused("UNIMPLEMENTED", .ours, alarm: .ourRequest),
    ]

    /// Returns the row for the HTTP status alone, if the code is missing or not in the tables.
    /// `isFromFCM`: there is an FcmError with an unknown code. Then the answer is about the push, not about the lane,
    /// and an unknown code is no verdict about a token.
    static func row(forHTTPStatus status: Int, isFromFCM: Bool) -> FCMErrorRow {
        switch status {
        case 429: waits("", .laneThrottled, after: quotaFloor)
        case 503: waits("", .providerUnavailable, after: busyFloor)
        case 500..<600: waits("", .providerBusy, after: busyFloor)
        case 400..<500 where isFromFCM: refused("", .message)
        case 401: waits("", .providerTokenExpired)
        case 403, 407: waits("", .credentialRefused, connection: .close, alarm: .credential)
        // A page in place of an answer: the address is wrong, which is a setting.
        case 404: waits("", .credentialRefused, alarm: .credential)
        case 405, 411, 414, 431: refused("", .ours, alarm: .ourRequest)
        case 408, 425, 499: waits("", .providerBusy, after: busyFloor)
        case 400..<500: refused("", .message)
        // Not an answer of FCM: a redirect, for example, of a proxy in between.
        default: waits("", .providerBusy, after: busyFloor)
        }
    }

    private static func refused(
        _ reason: String, _ fault: RejectionFault, if condition: FCMErrorRow.Condition = .always,
        alarm: ProviderAlarm? = nil
    ) -> FCMErrorRow {
        FCMErrorRow(
            reason: reason, condition: condition, meaning: .rejected(fault), after: nil, connection: .keep, alarm: alarm
        )
    }

    private static func waits(
        _ reason: String, _ why: DeferralReason, if condition: FCMErrorRow.Condition = .always, after: Duration? = nil,
        connection: ConnectionAdvice = .keep, alarm: ProviderAlarm? = nil
    ) -> FCMErrorRow {
        FCMErrorRow(
            reason: reason, condition: condition, meaning: .deferred(why), after: after, connection: connection,
            alarm: alarm)
    }
}
