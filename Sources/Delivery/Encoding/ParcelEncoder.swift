import APNs
import Basis
import Content
import FCM
import ProviderInterface
import QueueRules
import Store

/// Encodes leased members as requests: each push's own bytes in one flat array, everything shared once.
package struct ParcelEncoder: Sendable {
    /// Encoding a parcel takes milliseconds; other work on the pool runs after this many pushes.
    private static let pushesBetweenYields = 512
    /// The bytes of a path with a token of 64 digits, an id and a badge. FCM's tokens are as long.
    private static let bytesPerPushUsually = 176

    let parcel: LeasedParcel
    let locales: LocaleTable
    let form: Form
    let placeholders: MessagePlaceholders
    /// The values for the placeholders; nil: the message has none.
    let values: MemberValues?

    /// The message in the form of the route's provider, and what the route adds to it.
    enum Form: Sendable {
        case apns(APNsNotification, topic: String)
        case fcm(FCMMessage, path: [UInt8])
    }

    /// nil: the message has no form for the target's provider.
    package init?(
        _ parcel: LeasedParcel, _ message: CompiledMessage, _ values: MemberValues? = nil, _ target: PushTarget
    ) {
        self.parcel = parcel
        self.values = values
        locales = message.locales
        placeholders = message.placeholders
        switch target {
        case .apns(let topic):
            guard let notification = message.apns else { return nil }
            form = .apns(notification, topic: topic)
        case .fcm(let path):
            guard let compiled = message.fcm else { return nil }
            form = .fcm(compiled, path: path)
        }
    }

    /// Encodes the pushes at positions whose values were read. Runs on the caller's thread.
    nonisolated(nonsending) package func batch(
        of positions: [Int32], now: WallInstant, noStreamAfter: MonotonicInstant
    ) async -> EncodedPushes {
        var tooLarge: [Int32] = []
        var pieces: [PlaceholderFiller?] = withPlaceholders.map { text in
            text.map { PlaceholderFiller($0, placeholders) }
        }
        var bytes: [UInt8] = []
        var requests: [PushBatch.Request] = []
        requests.reserveCapacity(positions.count)
        bytes.reserveCapacity(positions.count * Self.bytesPerPushUsually)
        var sharedPath = ByteRange.empty
        if case .fcm(_, let path) = form {
            bytes += path
            sharedPath = ByteRange(start: 0, count: path.count)
        }
        for (turn, position) in positions.enumerated() {
            if turn % Self.pushesBetweenYields == Self.pushesBetweenYields - 1 { await Task.yield() }
            let member = parcel.members[Int(position)]
            let variant = variant(for: member)
            if !pieces.isEmpty, pieces[variant] != nil {
                if let request = requestWithPlaceholders(position, variant, sharedPath, &pieces[variant], &bytes) {
                    requests.append(request)
                } else {
                    tooLarge.append(position)
                }
                continue
            }
            switch form {
            case .apns(let notification, _):
                requests.append(apnsRequest(position, member, variant, notification, &bytes))
            case .fcm(let message, _):
                requests.append(fcmRequest(position, member, variant, message, sharedPath, &bytes))
            }
        }
        let batch = PushBatch(
            idHeader: idHeader, sharedFields: sharedFields(pushes: positions.count), bytes: bytes,
            frames: frames(now: now), requests: requests, noStreamAfter: noStreamAfter,
            isUrgent: parcel.urgency == .transactional, reportsWhenSent: parcel.ratePerSecond != nil)
        return EncodedPushes(batch: batch, tooLarge: tooLarge)
    }

    private func apnsRequest(
        _ position: Int32, _ member: LeasedMember, _ variant: Int, _ notification: APNsNotification,
        _ bytes: inout [UInt8]
    ) -> PushBatch.Request {
        let pathStart = bytes.count
        APNsRequest.appendPath(token: parcel.tokens.span.extracting(tokenRange(of: member)), to: &bytes)
        let idStart = bytes.count
        APNsRequest.appendID(message: parcel.message, registration: member.registration, to: &bytes)
        let bodyStart = bytes.count
        notification.payloads[variant].appendPlaceholder(badge: member.badge, to: &bytes)
        return PushBatch.Request(
            tag: position, path: ByteRange(start: pathStart, count: idStart - pathStart),
            id: ByteRange(start: idStart, count: bodyStart - idStart), frame: Int32(variant),
            body: ByteRange(start: bodyStart, count: bytes.count - bodyStart))
    }

    private func fcmRequest(
        _ position: Int32, _ member: LeasedMember, _ variant: Int, _ message: FCMMessage, _ path: ByteRange,
        _ bytes: inout [UInt8]
    ) -> PushBatch.Request {
        let bodyStart = bytes.count
        message.appendPlaceholder(
            token: parcel.tokens.span.extracting(tokenRange(of: member)), badge: member.badge, variant: variant,
            to: &bytes)
        return PushBatch.Request(
            tag: position, path: path, id: .empty, frame: Int32(variant),
            body: ByteRange(start: bodyStart, count: bytes.count - bodyStart))
    }

    /// Returns the range of the member's token in the parcel's tokens.
    func tokenRange(of member: LeasedMember) -> Range<Int> {
        let start = Int(member.tokenStart)
        return start..<start + Int(member.tokenCount)
    }

    /// Returns the variant of the message's text that matches the device's locale.
    private func variant(for member: LeasedMember) -> Int {
        guard member.localeCount > 0 else { return 0 }
        let start = Int(member.localeStart)
        return locales.variant(for: parcel.locales.span.extracting(start..<start + Int(member.localeCount)))
    }

    private var idHeader: [UInt8] {
        switch form {
        case .apns: APNsRequest.idHeader
        case .fcm: []
        }
    }

    private func sharedFields(pushes: Int) -> [PushBatch.SharedField] {
        switch form {
        case .apns(let notification, let topic):
            notification.headers(topic: topic, expiresAt: parcel.expiresAt, pushes: pushes).map {
                PushBatch.SharedField(name: $0.name, value: $0.value, isIndexed: $0.isIndexed)
            }
        case .fcm:
            FCMRequest.headers.map {
                PushBatch.SharedField(name: $0.name, value: $0.value, isIndexed: $0.isIndexed)
            }
        }
    }

    /// Returns the body frames in the order of the message's variants.
    private func frames(now: WallInstant) -> [PushBatch.BodyFrame] {
        switch form {
        case .apns(let notification, _):
            notification.payloads.map { payload in
                guard let text = payload.withPlaceholders else {
                    return PushBatch.BodyFrame(prefix: payload.head, suffix: payload.tail)
                }
                return PushBatch.BodyFrame(text, placeholders) { _ in nil }
            }
        case .fcm(let message, _):
            (0..<message.variantCount).map { variant in
                if let text = message.withPlaceholders(variant: variant) {
                    return PushBatch.BodyFrame(text, placeholders) {
                        message.time(mark: $0, expiresAt: parcel.expiresAt, now: now)
                    }
                }
                let frame = message.frame(variant: variant, expiresAt: parcel.expiresAt, now: now)
                return PushBatch.BodyFrame(prefix: frame.prefix, suffix: frame.suffix)
            }
        }
    }
}
