import APNs
import Basis
import Calendar
import FCM
import Model

/// A provider's answer, in the provider's own reasons and bytes. The product's classification decides what it means.
package struct ProviderAnswer: Equatable, Sendable {
    package let kind: AnswerKind
    /// The time since which the token is dead, in a 410.
    package var since: WallInstant?
    /// The `Retry-After` header in seconds.
    package var retryAfter: Int?
    /// The same as a date, to the second. The header carries it where it is set.
    package var retryAt: WallInstant?

    package init(_ kind: AnswerKind, since: WallInstant? = nil, retryAfter: Int? = nil) {
        self.kind = kind
        // Apple's clock has milliseconds.
        self.since = since.map { WallInstant(microseconds: $0.microseconds / 1_000 * 1_000) }
        self.retryAfter = retryAfter
    }

    /// Classifies the answer with the product's own code, as Delivery does.
    package func verdict(now: WallInstant) -> ProviderVerdict {
        let wait = Array((retryAt.map(HTTPDate.format) ?? retryAfter.map { "\($0)" } ?? "").utf8)
        let body = Array(self.body.utf8)
        return kind.provider == .fcm
            ? FCMResponse.classify(status: kind.status, body: body.span, retryAfter: wait.span, now: now)
            : APNsResponse.classify(
                status: kind.status, body: body.span, retryAfter: retryAfter.map { .seconds($0) })
    }

    private var body: String {
        guard let since else { return kind.body }
        return #"{"reason":"\#(kind.rawValue)","timestamp":\#(since.microseconds / 1_000)}"#
    }

    /// The pause that the provider asks for with this push, by its header or by its documentation.
    package var pauseAsked: Duration? {
        guard let floor = kind.floor else { return nil }
        guard let retryAfter else { return floor }
        // Google's header replaces the documented pause; Apple's may only lengthen it.
        return kind.provider == .fcm ? .seconds(max(1, retryAfter)) : max(floor, .seconds(retryAfter))
    }
}

/// Every answer that the providers of these worlds can give. The census requires each of them.
package enum AnswerKind: String, CaseIterable, Sendable {
    // Apple's.
    case delivered
    case unregistered = "Unregistered"
    case expiredToken = "ExpiredToken"
    case badDeviceToken = "BadDeviceToken"
    case notForTopic = "DeviceTokenNotForTopic"
    case tooManyRequests = "TooManyRequests"
    case internalServerError = "InternalServerError"
    case serviceUnavailable = "ServiceUnavailable"
    case invalidProviderToken = "InvalidProviderToken"
    case expiredProviderToken = "ExpiredProviderToken"
    case payloadTooLarge = "PayloadTooLarge"

    // Google's.
    case sent
    case appGone = "UNREGISTERED"
    /// A 404 of Google's frontend: the project does not exist. It proves nothing about a token.
    case noSuchProject
    case senderMismatch = "SENDER_ID_MISMATCH"
    /// INVALID_ARGUMENT about the token, in the message text and in the field.
    case tokenIsNone, tokenFieldIsBad
    /// INVALID_ARGUMENT about the message, in the message text and in the field.
    case messageTooBig, messageFieldIsBad
    /// A 401 about the credential that the project's owner gave Google for its devices, not about our access token.
    case thirdPartyAuth = "THIRD_PARTY_AUTH_ERROR"
    case accessRefused
    case permissionDenied
    case projectQuota, deviceQuota
    case unavailable = "UNAVAILABLE"
    case internalError = "INTERNAL"
    /// A page of a machine between Google's frontend and us.
    case badGateway

    package var provider: Provider {
        switch self {
        case .delivered, .unregistered, .expiredToken, .badDeviceToken, .notForTopic, .tooManyRequests,
            .internalServerError, .serviceUnavailable, .invalidProviderToken, .expiredProviderToken, .payloadTooLarge:
            .apns
        case .sent, .appGone, .noSuchProject, .senderMismatch, .tokenIsNone, .tokenFieldIsBad, .messageTooBig,
            .messageFieldIsBad, .thirdPartyAuth, .accessRefused, .permissionDenied, .projectQuota, .deviceQuota,
            .unavailable, .internalError, .badGateway:
            .fcm
        }
    }

    package var status: Int {
        switch self {
        case .delivered, .sent: 200
        case .badDeviceToken, .notForTopic, .tokenIsNone, .tokenFieldIsBad, .messageTooBig, .messageFieldIsBad: 400
        case .thirdPartyAuth, .accessRefused: 401
        case .invalidProviderToken, .expiredProviderToken, .senderMismatch, .permissionDenied: 403
        case .appGone, .noSuchProject: 404
        case .unregistered, .expiredToken: 410
        case .payloadTooLarge: 413
        case .tooManyRequests, .projectQuota, .deviceQuota: 429
        case .internalServerError, .internalError: 500
        case .badGateway: 502
        case .serviceUnavailable, .unavailable: 503
        }
    }

    package var isAccepted: Bool { self == .delivered || self == .sent }

    /// Whether the push ends undelivered with this answer.
    package var isRefusal: Bool {
        switch self {
        case .payloadTooLarge, .messageTooBig, .messageFieldIsBad, .thirdPartyAuth: true
        default: reportsUnregistered || suspectsToken
        }
    }

    /// Whether the provider says that the token is dead.
    package var reportsUnregistered: Bool { self == .unregistered || self == .expiredToken || self == .appGone }

    /// Whether the answer blames the token, or its use with this sender.
    package var suspectsToken: Bool {
        switch self {
        case .badDeviceToken, .notForTopic, .senderMismatch, .tokenIsNone, .tokenFieldIsBad: true
        default: false
        }
    }

    /// The pause that the provider's documentation asks for where no header does. Google asks for 60 s after a 429 and
    /// 10 s after a 5xx. Apple names none; we apply the same.
    package var floor: Duration? {
        switch status {
        case 429: .seconds(60)
        case 500...: .seconds(10)
        default: nil
        }
    }

    fileprivate var body: String {
        switch self {
        case .delivered: ""
        case .sent: #"{"name":"projects/bells/messages/0:1500415314455276"}"#
        case .appGone: google("NOT_FOUND", "Requested entity was not found.", fcmError(rawValue))
        case .noSuchProject: google("NOT_FOUND", "Requested entity was not found.")
        case .senderMismatch: google("PERMISSION_DENIED", "SenderId mismatch", fcmError(rawValue))
        case .tokenIsNone:
            google(
                "INVALID_ARGUMENT", "The registration token is not a valid FCM registration token",
                fcmError("INVALID_ARGUMENT"))
        case .tokenFieldIsBad:
            google(
                "INVALID_ARGUMENT", "Invalid value", fcmError("INVALID_ARGUMENT"), badRequest("message.token"))
        case .messageTooBig: google("INVALID_ARGUMENT", "Message is too big", fcmError("INVALID_ARGUMENT"))
        case .messageFieldIsBad:
            google("INVALID_ARGUMENT", "Invalid data payload key: from", badRequest("message.data[0].key"))
        case .thirdPartyAuth: google("UNAUTHENTICATED", "Auth error from APNS or Web Push Service", fcmError(rawValue))
        case .accessRefused: google("UNAUTHENTICATED", "Request had invalid authentication credentials.")
        case .permissionDenied: google("PERMISSION_DENIED", "Permission 'cloudmessaging.messages.create' denied")
        case .projectQuota:
            google("RESOURCE_EXHAUSTED", "Quota exceeded", fcmError("QUOTA_EXCEEDED"), quota("project:bells"))
        case .deviceQuota: google("RESOURCE_EXHAUSTED", "Quota exceeded", fcmError("QUOTA_EXCEEDED"), quota("device:1"))
        case .unavailable: google("UNAVAILABLE", "The service is currently unavailable.", fcmError(rawValue))
        case .internalError: google("INTERNAL", "Internal error encountered.", fcmError(rawValue))
        case .badGateway: "<!DOCTYPE html><html lang=en><title>Error 502 (Server Error)!!1</title>"
        default: #"{"reason":"\#(rawValue)"}"#
        }
    }

    private func google(_ status: String, _ message: String, _ details: String...) -> String {
        let list = details.joined(separator: ",")
        return #"{"error":{"code":\#(self.status),"message":"\#(message)","status":"\#(status)","details":[\#(list)]}}"#
    }

    private func fcmError(_ code: String) -> String {
        #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.FcmError","errorCode":"\#(code)"}"#
    }

    private func badRequest(_ field: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[{"field":"\#(field)"}]}"#
    }

    private func quota(_ subject: String) -> String {
        #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{"subject":"\#(subject)"}]}"#
    }
}
