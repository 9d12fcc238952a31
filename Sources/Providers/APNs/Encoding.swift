import Basis
import Content
import JSON
import Model
import ProviderInterface
import QueueRules

extension APNsNotification: CompiledPush {
    package var provider: Provider { .apns }

    package func beginBatch(of pushes: ParcelPushes, count: Int) -> PushBatchBuilder {
        PushBatchBuilder(
            idHeader: APNsRequest.idHeader,
            sharedFields: headers(topic: pushes.address, expiresAt: pushes.parcel.expiresAt, pushes: count),
            frames: payloads.map { payload in
                guard let text = payload.withPlaceholders else {
                    return PushBatch.BodyFrame(prefix: payload.head, suffix: payload.tail)
                }
                return PushBatch.BodyFrame(text, pushes.placeholders) { _ in nil }
            },
            fillers: pushes.fillers(payloads.map(\.withPlaceholders)), count: count)
    }

    package func append(_ positions: ArraySlice<Int32>, of pushes: ParcelPushes, to batch: inout PushBatchBuilder) {
        for position in positions {
            let member = pushes.parcel.members[Int(position)]
            let variant = pushes.variant(for: member)
            let pathStart = batch.bytes.count
            APNsRequest.appendPath(
                token: pushes.parcel.tokens.span.extracting(pushes.tokenRange(of: member)), to: &batch.bytes)
            let idStart = batch.bytes.count
            APNsRequest.appendID(message: pushes.parcel.message, registration: member.registration, to: &batch.bytes)
            let bodyStart = batch.bytes.count
            if let values = pushes.values, batch.hasFiller(variant) {
                guard fill(position, badge: member.badge, variant, values, &batch) else {
                    batch.leaveOut(position, from: pathStart)
                    continue
                }
            } else {
                payloads[variant].appendOwnBytes(badge: member.badge, to: &batch.bytes)
            }
            batch.add(
                position, path: ByteRange(start: pathStart, count: idStart - pathStart),
                id: ByteRange(start: idStart, count: bodyStart - idStart), variant: variant, bodyStart: bodyStart)
        }
    }

    /// Appends the device's values for the placeholders. Returns false if they make the payload too large.
    private func fill(
        _ position: Int32, badge: Int32, _ variant: Int, _ values: MemberValues, _ batch: inout PushBatchBuilder
    ) -> Bool {
        let isShort = batch.fillers[variant]?.append(values, of: Int(position), to: &batch.bytes) { mark, bytes in
            CompiledAPNsPayload.append(mark: mark, badge: badge, to: &bytes)
        }
        let bytesMax = APNsPushTypes.row(for: pushType).payloadBytesMax
        return isShort ?? false && batch.fillers[variant]?.bodyBytes ?? .max <= bytesMax
    }

    package func preview(_ device: PreviewedDevice) -> PushPreview {
        let payload = payloads[device.variant]
        var bytes = payload.head
        payload.appendOwnBytes(badge: device.badge, to: &bytes)
        bytes += payload.tail
        if let text = payload.withPlaceholders {
            let pieces = device.pieces(of: text) { mark in
                var piece: [UInt8] = []
                CompiledAPNsPayload.append(mark: mark, badge: device.badge ?? 0, to: &piece)
                return piece
            }
            bytes = text.bytes(filledWith: pieces)
        }
        return PushPreview(
            body: bytes, payloadBytes: payload.withPlaceholders == nil ? payload.bytesMax : bytes.count,
            payloadBytesMax: APNsPushTypes.row(for: pushType).payloadBytesMax,
            terms: [
                JSONMember("push_type", .string(pushType.name)),
                JSONMember("priority", .number(.whole(Int64(priority)))),
            ])
    }
}
