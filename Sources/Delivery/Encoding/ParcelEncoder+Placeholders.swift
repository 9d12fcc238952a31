import APNs
import Basis
import Content
import FCM
import ProviderInterface
import Store

/// A parcel's pushes, ready to leave; but for those that no provider would take.
package struct EncodedPushes: Sendable {
    package let batch: PushBatch
    /// By position: with what goes into the holes the payload has more bytes than the provider takes.
    package let tooLarge: [Int32]
}

// Pushes that devices' own values go into.
extension ParcelEncoder {
    /// In the order of the message's variants, those that have holes. Empty: none has.
    var withPlaceholders: [PlaceholderText?] {
        guard !placeholders.isEmpty, values != nil else { return [] }
        switch form {
        case .apns(let notification, _): return notification.payloads.map(\.withPlaceholders)
        case .fcm(let message, _): return (0..<message.variantCount).map { message.withPlaceholders(variant: $0) }
        }
    }

    /// nil: the payload is too large; nothing of it is left in the bytes.
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

    /// False where the payload is too large with them.
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
