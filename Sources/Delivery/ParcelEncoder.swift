import APNs
import DeliveryRules
import FCM
import HTTP2
import PushModel
import Transport

/// Turns leased members into requests: what is each push's own in one flat array, everything else once.
struct ParcelEncoder {
    /// Encoding goes on for milliseconds; other work on the pool gets its turn this often.
    private static let pushesBetweenYields = 512
    /// A path with a token of 64 digits, an id and a badge; FCM's tokens are as long.
    private static let bytesPerPushUsually = 176

    let parcel: LeasedParcel
    let locales: LocaleTable
    let form: Form

    /// The message in the form of the provider that the parcel's route leads to, and what the route adds to it.
    enum Form {
        case apns(APNsNotification, topic: String)
        case fcm(FCMMessage, path: [UInt8])
    }

    /// nil: the message has no form for the target's provider.
    init?(_ parcel: LeasedParcel, _ message: CompiledMessage, _ target: PushTarget) {
        self.parcel = parcel
        locales = message.locales
        switch target {
        case .apns(let topic):
            guard let notification = message.apns else { return nil }
            form = .apns(notification, topic: topic)
        case .fcm(let path):
            guard let compiled = message.fcm else { return nil }
            form = .fcm(compiled, path: path)
        }
    }

    func batch(of positions: [Int32], now: WallInstant, noStreamAfter: MonotonicInstant) async -> PushBatch {
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
            switch form {
            case .apns(let notification, _):
                requests.append(apnsRequest(position, member, notification, &bytes))
            case .fcm(let message, _):
                requests.append(fcmRequest(position, member, message, sharedPath, &bytes))
            }
        }
        return PushBatch(
            idHeader: idHeader, sharedFields: sharedFields(pushes: positions.count), bytes: bytes,
            frames: frames(now: now), requests: requests, noStreamAfter: noStreamAfter)
    }

    private func apnsRequest(
        _ position: Int32, _ member: LeasedMember, _ notification: APNsNotification, _ bytes: inout [UInt8]
    ) -> PushBatch.Request {
        let variant = variant(for: member)
        let pathStart = bytes.count
        APNsRequest.appendPath(token: parcel.tokens.span.extracting(tokenRange(of: member)), to: &bytes)
        let idStart = bytes.count
        APNsRequest.appendID(message: parcel.message, registration: member.registration, to: &bytes)
        let bodyStart = bytes.count
        notification.payloads[variant].appendHole(badge: member.badge, to: &bytes)
        return PushBatch.Request(
            tag: position, path: ByteRange(start: pathStart, count: idStart - pathStart),
            id: ByteRange(start: idStart, count: bodyStart - idStart), frame: Int32(variant),
            body: ByteRange(start: bodyStart, count: bytes.count - bodyStart))
    }

    private func fcmRequest(
        _ position: Int32, _ member: LeasedMember, _ message: FCMMessage, _ path: ByteRange, _ bytes: inout [UInt8]
    ) -> PushBatch.Request {
        let variant = variant(for: member)
        let bodyStart = bytes.count
        message.appendHole(
            token: parcel.tokens.span.extracting(tokenRange(of: member)), badge: member.badge, variant: variant,
            to: &bytes)
        return PushBatch.Request(
            tag: position, path: path, id: .empty, frame: Int32(variant),
            body: ByteRange(start: bodyStart, count: bytes.count - bodyStart))
    }

    /// Where the member's token lies in the parcel's.
    private func tokenRange(of member: LeasedMember) -> Range<Int> {
        let start = Int(member.tokenStart)
        return start..<start + Int(member.tokenCount)
    }

    /// Which of the message's texts the device's people read.
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

    /// In the order of the message's variants.
    private func frames(now: WallInstant) -> [PushBatch.BodyFrame] {
        switch form {
        case .apns(let notification, _):
            notification.payloads.map { PushBatch.BodyFrame(prefix: $0.head, suffix: $0.tail) }
        case .fcm(let message, _):
            (0..<message.variantCount).map { variant in
                let frame = message.frame(variant: variant, expiresAt: parcel.expiresAt, now: now)
                return PushBatch.BodyFrame(prefix: frame.prefix, suffix: frame.suffix)
            }
        }
    }
}
