import APNs
import Basis
import Content
import FCM
import ProviderInterface
import Store

/// A parcel's encoded pushes, without those that no provider would take.
package struct EncodedPushes: Sendable {
    package let batch: PushBatch
    /// The positions whose payload, with its values filled in, exceeds the provider's limit.
    package let tooLarge: [Int32]
}

// Encoding of pushes with placeholders.
extension ParcelEncoder {
    /// The texts with placeholders, one for each of the message's variants, in their order. Empty: none has any.
    var withPlaceholders: [PlaceholderText?] {
        guard !placeholders.isEmpty, values != nil else { return [] }
        switch form {
        case .apns(let notification, _): return notification.payloads.map(\.withPlaceholders)
        case .fcm(let message, _): return (0..<message.variantCount).map { message.withPlaceholders(variant: $0) }
        }
    }

    /// Encodes one push; nil: its payload is too large, and its bytes are removed again.
    func requestWithPlaceholders(
        _ position: Int32, _ variant: Int, _ sharedPath: ByteRange, _ pieces: inout PlaceholderFiller?,
        _ bytes: inout [UInt8]
    ) -> PushBatch.Request? {
        guard let values else { return nil }
        let member = parcel.members[Int(position)]
        let start = bytes.count
        var (path, id) = (sharedPath, ByteRange.empty)
        if case .apns = form {
            APNsRequest.appendPath(token: parcel.tokens.span.extracting(tokenRange(of: member)), to: &bytes)
            path = ByteRange(start: start, count: bytes.count - start)
            APNsRequest.appendID(message: parcel.message, registration: member.registration, to: &bytes)
            id = ByteRange(start: start + Int(path.count), count: bytes.count - start - Int(path.count))
        }
        let bodyStart = bytes.count
        guard append(values, of: Int(position), variant, &pieces, &bytes) else {
            bytes.removeLast(bytes.count - start)
            return nil
        }
        return PushBatch.Request(
            tag: position, path: path, id: id, frame: Int32(variant),
            body: ByteRange(start: bodyStart, count: bytes.count - bodyStart))
    }

    /// Returns false if the values make the payload too large.
    private func append(
        _ values: MemberValues, of position: Int, _ variant: Int, _ pieces: inout PlaceholderFiller?,
        _ bytes: inout [UInt8]
    ) -> Bool {
        let member = parcel.members[position]
        switch form {
        case .apns(let notification, _):
            let isShort = pieces?.append(values, of: position, to: &bytes) { mark, bytes in
                CompiledAPNsPayload.append(mark: mark, badge: member.badge, to: &bytes)
            }
            let bytesMax = APNsPushTypes.row(for: notification.pushType).payloadBytesMax
            return isShort ?? false && pieces?.bodyBytes ?? .max <= bytesMax
        case .fcm(let message, _):
            let isShort = pieces?.append(values, of: position, to: &bytes) { mark, bytes in
                let token = parcel.tokens.span.extracting(tokenRange(of: member))
                FCMMessage.append(mark: mark, token: token, badge: member.badge, to: &bytes)
            }
            guard isShort ?? false, let lengths = pieces?.lengths else { return false }
            return message.payloadBytes(variant: variant, pieceBytes: lengths) <= FCMLimits.payloadBytesMax
        }
    }
}
