/// A documented refusal: status and reason, and the time in a 410.
/// Source: Apple, "Handling notification responses from APNs".
package struct APNsRefusal: Equatable, Sendable {
    package var status: Int
    package var reason: String
    package var time: Time?
    package var retryAfterSeconds: Int?

    /// The time from which the token is invalid.
    package enum Time: Equatable, Sendable {
        case now
        case milliseconds(Int64)
    }

    package init(_ status: Int, _ reason: String, time: Time? = nil, retryAfterSeconds: Int? = nil) {
        (self.status, self.reason, self.time, self.retryAfterSeconds) = (status, reason, time, retryAfterSeconds)
    }

    package static let badCertificate = APNsRefusal(403, "BadCertificate")
    package static let badCertificateEnvironment = APNsRefusal(403, "BadCertificateEnvironment")
    package static let badCollapseID = APNsRefusal(400, "BadCollapseId")
    package static let badDeviceToken = APNsRefusal(400, "BadDeviceToken")
    package static let badExpirationDate = APNsRefusal(400, "BadExpirationDate")
    package static let badMessageID = APNsRefusal(400, "BadMessageId")
    package static let badPriority = APNsRefusal(400, "BadPriority")
    package static let badTopic = APNsRefusal(400, "BadTopic")
    package static let deviceTokenNotForTopic = APNsRefusal(400, "DeviceTokenNotForTopic")
    package static let duplicateHeaders = APNsRefusal(400, "DuplicateHeaders")
    /// Sent in a GOAWAY.
    package static let idleTimeout = APNsRefusal(400, "IdleTimeout")
    package static let invalidPushType = APNsRefusal(400, "InvalidPushType")
    package static let missingDeviceToken = APNsRefusal(400, "MissingDeviceToken")
    package static let missingTopic = APNsRefusal(400, "MissingTopic")
    package static let payloadEmpty = APNsRefusal(400, "PayloadEmpty")
    /// Documented for broadcast only. We also use it for a body that is no JSON object.
    package static let badRequestPayload = APNsRefusal(400, "BadRequestPayload")
    package static let topicDisallowed = APNsRefusal(400, "TopicDisallowed")
    package static let expiredProviderToken = APNsRefusal(403, "ExpiredProviderToken")
    package static let forbidden = APNsRefusal(403, "Forbidden")
    package static let invalidProviderToken = APNsRefusal(403, "InvalidProviderToken")
    package static let missingProviderToken = APNsRefusal(403, "MissingProviderToken")
    package static let unrelatedKeyID = APNsRefusal(403, "UnrelatedKeyIdInToken")
    package static let badEnvironmentKeyID = APNsRefusal(403, "BadEnvironmentKeyIdInToken")
    package static let badPath = APNsRefusal(404, "BadPath")
    package static let methodNotAllowed = APNsRefusal(405, "MethodNotAllowed")
    package static let unregistered = APNsRefusal(410, "Unregistered", time: .now)
    package static let expiredToken = APNsRefusal(410, "ExpiredToken", time: .now)
    package static let payloadTooLarge = APNsRefusal(413, "PayloadTooLarge")
    package static let tooManyProviderTokenUpdates = APNsRefusal(429, "TooManyProviderTokenUpdates")
    package static let tooManyRequests = APNsRefusal(429, "TooManyRequests")
    package static let internalServerError = APNsRefusal(500, "InternalServerError")
    package static let serviceUnavailable = APNsRefusal(503, "ServiceUnavailable")
    package static let shutdown = APNsRefusal(503, "Shutdown")
}
