import Basis
import Encodings
import Model
import ProviderInterface

/// The parts of a request that differ from push to push. Appends to the caller's buffer; allocates nothing of its own.
package enum APNsRequest {
    package static let idHeader = Array("apns-id".utf8)
    package static let pathPrefix = Array("/3/device/".utf8)

    package static func appendPath(token: Span<UInt8>, to buffer: inout [UInt8]) {
        buffer.append(contentsOf: pathPrefix)
        Hexadecimal.append(token, to: &buffer)
    }

    /// Appends the value of `apns-id`, 36 bytes: the same on every attempt (P4).
    package static func appendID(message: MessageID, registration: RegistrationID, to buffer: inout [UInt8]) {
        UUIDText.append(PushIdentity.apnsID(message: message, registration: registration), to: &buffer)
    }
}

extension APNsNotification {
    /// Returns the headers that all pushes of a batch share, beside the credential's `authorization`.
    /// `pushes`: the number of pushes in the batch. `topic`: the app's bundle id, without a suffix.
    package func headers(topic: String, expiresAt: WallInstant, pushes: Int) -> [PushBatch.SharedField] {
        let isBatch = pushes >= APNsLimits.indexedBatchMin
        let row = APNsPushTypes.row(for: pushType)
        // APNs reads zero as "now or never". An instant in 1970 would be our mistake, not a request for that.
        let expiration = isNowOrNever || !row.isStored ? 0 : max(1, expiresAt.secondsSince1970)
        var headers = [
            PushBatch.SharedField("apns-push-type", pushType.name.utf8),
            PushBatch.SharedField("apns-priority", String(priority).utf8),
            PushBatch.SharedField("apns-expiration", String(expiration).utf8, isIndexed: isBatch),
            PushBatch.SharedField("apns-collapse-id", collapseID, isIndexed: isBatch),
        ]
        let fullTopic = APNsPushTypes.topic(bundleID: topic, type: pushType)
        if !fullTopic.isEmpty { headers.insert(PushBatch.SharedField("apns-topic", fullTopic.utf8), at: 0) }
        return headers
    }
}
