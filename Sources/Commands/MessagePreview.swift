import APNs
import Delivery
import DeliveryRules
import Encodings
import FCM
import GatewayAPI
import JSON
import PushModel
import Reactor

/// What phones would get of a message, built by the gateway's own rooms, without a gateway.
struct MessagePreview {
    private let compiled: [CompiledMessage]
    private let locales: LocaleTable
    private let app: String
    /// What a phone's badge would be.
    private static let badge: Int32 = 1
    private static let tokenShown = "<token>"

    /// - Parameter body: of `POST .../messages`.
    init(_ body: [UInt8], app: String) throws(CommandFault) {
        self.app = app
        let request: MessageRequest
        do { request = try MessageRequest.read(body) } catch { throw Self.refused(error) }
        locales = LocaleTable(request.contents[0].localizations.map(\.locale))
        var compiled: [CompiledMessage] = []
        for content in request.contents {
            let random = (Entropy.uint64(), Entropy.uint64())
            let id = MessageID(UUIDv7.make(at: Clocks.wallNow(), random: random))
            do {
                compiled.append(
                    try CompiledMessage.compile(content, message: id, providers: request.audience.providersAsked))
            } catch {
                throw Self.refused(Problem(error))
            }
        }
        self.compiled = compiled
    }

    private static func refused(_ problem: Problem) -> CommandFault {
        CommandFault(status: problem.code.status, body: problem.body)
    }

    /// - Parameter locale: of the phones.
    func lines(locale: String?) -> [String] {
        let variant = locale.map { locales.variant(for: Array($0.utf8).span) } ?? 0
        var lines: [String] = []
        for (place, message) in compiled.enumerated() {
            if compiled.count > 1 { lines.append("message \(place + 1) of \(compiled.count)") }
            lines += iPhone(message, variant) + android(message, variant)
        }
        return lines
    }

    private func iPhone(_ message: CompiledMessage, _ variant: Int) -> [String] {
        guard let notification = message.apns else { return ["An iPhone gets nothing of it.", ""] }
        let payload = notification.payloads[variant]
        var bytes = payload.head
        payload.appendHole(badge: Self.badge, to: &bytes)
        bytes += payload.tail
        let type = notification.pushType.name
        let bytesMax = APNsPushTypes.row(for: notification.pushType).payloadBytesMax
        let title =
            "An iPhone: push type \(type), priority \(notification.priority), "
            + "\(payload.bytesMax) of \(bytesMax) bytes"
        let picture = (try? JSONReader.read(bytes, limits: .trusted)).map { PhonePicture(apns: $0, app: app).lines }
        return [title] + (picture ?? []) + ["  " + String(decoding: bytes, as: UTF8.self), ""]
    }

    private func android(_ message: CompiledMessage, _ variant: Int) -> [String] {
        guard let push = message.fcm else { return ["An Android phone gets nothing of it.", ""] }
        let now = Clocks.wallNow()
        let frame = push.frame(variant: variant, expiresAt: now + .seconds(86_400), now: now)
        var bytes = frame.prefix
        push.appendHole(token: Array(Self.tokenShown.utf8).span, badge: Self.badge, variant: variant, to: &bytes)
        bytes += frame.suffix
        let title =
            "An Android phone: \(push.payloadBytes) of \(FCMLimits.payloadBytesMax) bytes of notification and data"
        let picture = (try? JSONReader.read(bytes, limits: .trusted)).map { PhonePicture(fcm: $0, app: app).lines }
        return [title] + (picture ?? []) + ["  " + String(decoding: bytes, as: UTF8.self), ""]
    }
}
