import Basis
import Content
import JSON
import Model
import ProviderInterface
import QueueRules

extension FCMMessage: CompiledPush {
    package var provider: Provider { .fcm }

    package func beginBatch(of pushes: ParcelPushes, count: Int) -> PushBatchBuilder {
        let expiresAt = pushes.parcel.expiresAt
        return PushBatchBuilder(
            sharedFields: FCMRequest.headers, sharedPath: Array(pushes.address.utf8),
            frames: (0..<variantCount).map { variant in
                // With placeholders, the text around them is shared. Otherwise it is all but the token and the badge.
                if let text = withPlaceholders(variant: variant) {
                    return PushBatch.BodyFrame(text, pushes.placeholders) {
                        batchTime(mark: $0, expiresAt: expiresAt, now: pushes.now)
                    }
                }
                return frame(variant: variant, expiresAt: expiresAt, now: pushes.now)
            },
            fillers: pushes.fillers((0..<variantCount).map { withPlaceholders(variant: $0) }), count: count)
    }

    package func append(_ positions: ArraySlice<Int32>, of pushes: ParcelPushes, to batch: inout PushBatchBuilder) {
        for position in positions {
            let member = pushes.parcel.members[Int(position)]
            let variant = pushes.variant(for: member)
            let bodyStart = batch.bytes.count
            if let values = pushes.values, batch.hasFiller(variant) {
                guard fill(position, member, variant, pushes, values, &batch) else {
                    batch.leaveOut(position, from: bodyStart)
                    continue
                }
            } else {
                appendOwnBytes(
                    token: pushes.parcel.tokens.span.extracting(pushes.tokenRange(of: member)), badge: member.badge,
                    variant: variant, to: &batch.bytes)
            }
            batch.add(position, path: batch.sharedPath, id: .empty, variant: variant, bodyStart: bodyStart)
        }
    }

    /// Appends the device's values for the placeholders. Returns false if they make the payload too large.
    private func fill(
        _ position: Int32, _ member: LeasedMember, _ variant: Int, _ pushes: ParcelPushes, _ values: MemberValues,
        _ batch: inout PushBatchBuilder
    ) -> Bool {
        let isShort = batch.fillers[variant]?.append(values, of: Int(position), to: &batch.bytes) { mark, bytes in
            let token = pushes.parcel.tokens.span.extracting(pushes.tokenRange(of: member))
            FCMVariant.append(mark: mark, token: token, badge: member.badge, to: &bytes)
        }
        guard isShort ?? false, let lengths = batch.fillers[variant]?.lengths else { return false }
        return payloadBytes(variant: variant, pieces: lengths) <= FCMLimits.payloadBytesMax
    }

    package func preview(_ device: PreviewedDevice) -> PushPreview {
        let expiresAt = device.now + .seconds(86_400)
        let frame = frame(variant: device.variant, expiresAt: expiresAt, now: device.now)
        let token = Array(PushPreview.token.utf8)
        var bytes = frame.prefix
        appendOwnBytes(token: token.span, badge: device.badge, variant: device.variant, to: &bytes)
        bytes += frame.suffix
        var payloadBytes = payloadBytes
        if let text = withPlaceholders(variant: device.variant) {
            let pieces = device.pieces(of: text) { mark in
                if let time = batchTime(mark: mark, expiresAt: expiresAt, now: device.now) { return time }
                var piece: [UInt8] = []
                FCMVariant.append(mark: mark, token: token.span, badge: device.badge ?? 0, to: &piece)
                return piece
            }
            bytes = text.bytes(filledWith: pieces)
            payloadBytes = self.payloadBytes(variant: device.variant, pieces: pieces.map { PieceLength(json: $0) })
        }
        return PushPreview(
            body: bytes, payloadBytes: payloadBytes, payloadBytesMax: FCMLimits.payloadBytesMax,
            countedParts: "notification and data")
    }
}
