import APNs
import DeliveryRules
import HTTP2
import PushModel
import Transport

/// Turns leased members into requests: a path, an id and a badge each, in one flat array; the payload once.
struct ParcelEncoder {
    /// Encoding goes on for milliseconds; other work on the pool gets its turn this often.
    private static let pushesBetweenYields = 512
    /// A path with a token of 64 digits, an id and a badge.
    private static let bytesPerPushUsually = 144

    let parcel: LeasedParcel
    let notification: APNsNotification
    let topic: String

    func batch(of positions: [Int32], noStreamAfter: MonotonicInstant) async -> PushBatch {
        var bytes: [UInt8] = []
        var requests: [PushBatch.Request] = []
        requests.reserveCapacity(positions.count)
        bytes.reserveCapacity(positions.count * Self.bytesPerPushUsually)
        for (turn, position) in positions.enumerated() {
            if turn % Self.pushesBetweenYields == Self.pushesBetweenYields - 1 { await Task.yield() }
            requests.append(request(position, &bytes))
        }
        let shared = notification.headers(topic: topic, expiresAt: parcel.expiresAt, pushes: positions.count).map {
            header in
            PushBatch.SharedField(name: header.name, value: header.value, isIndexed: header.isIndexed)
        }
        return PushBatch(
            idHeader: APNsRequest.idHeader, sharedFields: shared, bytes: bytes,
            bodyPrefix: notification.payload.head, bodySuffix: notification.payload.tail, requests: requests,
            noStreamAfter: noStreamAfter)
    }

    private func request(_ position: Int32, _ bytes: inout [UInt8]) -> PushBatch.Request {
        let member = parcel.members[Int(position)]
        let tokenStart = Int(member.tokenStart)
        let pathStart = bytes.count
        let token = parcel.tokens.span.extracting(tokenStart..<tokenStart + Int(member.tokenCount))
        APNsRequest.appendPath(token: token, to: &bytes)
        let idStart = bytes.count
        APNsRequest.appendID(message: parcel.message, registration: member.registration, to: &bytes)
        let bodyStart = bytes.count
        notification.payload.appendHole(badge: member.badge, to: &bytes)
        return PushBatch.Request(
            tag: position, path: ByteRange(start: pathStart, count: idStart - pathStart),
            id: ByteRange(start: idStart, count: bodyStart - idStart),
            body: ByteRange(start: bodyStart, count: bytes.count - bodyStart))
    }
}
