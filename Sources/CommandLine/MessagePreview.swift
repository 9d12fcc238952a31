import API
import APNs
import Basis
import Content
import Delivery
import Encodings
import FCM
import JSON
import Model
import Reactor

/// A preview of what phones would get of a message. The gateway's own code builds it, without a gateway.
struct MessagePreview {
    private let compiled: [CompiledMessage]
    /// The change of the badge by each message.
    private let badges: [BadgeChange]
    private let locales: LocaleTable
    private let app: String
    /// The next badge of a phone whose badge is 0, shown where each phone has its own next number.
    private static let nextBadge: Int32 = 1
    private static let tokenShown = "<token>"

    /// - Parameter body: the body of `POST .../messages`.
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
        badges = request.contents.map(\.badge)
    }

    /// Whether the message has placeholders.
    var isTemplate: Bool { compiled.contains { !$0.placeholders.isEmpty } }

    private static func refused(_ problem: Problem) -> CommandFault {
        CommandFault(status: problem.code.status, body: problem.body)
    }

    func lines(_ phone: PreviewDevice) -> [String] {
        var lines: [String] = []
        for (place, previews) in previews(phone).enumerated() {
            if compiled.count > 1 { lines.append("message \(place + 1) of \(compiled.count)") }
            let badge = badges[place] == .increment ? "+1" : nil
            for preview in previews { lines += preview.lines(app: app, badge: badge) + [""] }
        }
        return lines
    }

    func json(_ phone: PreviewDevice) -> JSONValue {
        let messages = previews(phone).map { previews in
            JSONValue.object(JSONObject(previews.map { JSONMember($0.provider.name, $0.json) }))
        }
        return ["previews": .array(messages)]
    }

    /// The previews of each message for each kind of phone.
    private func previews(_ phone: PreviewDevice) -> [[NotificationPreview]] {
        let variant = phone.locale.map { locales.variant(for: Array($0.utf8).span) } ?? 0
        return zip(compiled, badges).map { message, change in
            let badge = Self.number(change)
            return [iPhone(message, variant, badge, phone), android(message, variant, badge, phone)]
        }
    }

    private static func number(_ change: BadgeChange) -> Int32? {
        switch change {
        case .none: nil
        case .increment: nextBadge
        case .value(let number): number
        }
    }

    private func iPhone(
        _ message: CompiledMessage, _ variant: Int, _ badge: Int32?, _ phone: PreviewDevice
    ) -> NotificationPreview {
        guard let notification = message.apns else { return NotificationPreview(provider: .apns, push: nil) }
        let payload = notification.payloads[variant]
        var bytes = payload.head
        payload.appendPlaceholder(badge: badge, to: &bytes)
        bytes += payload.tail
        if let text = payload.withPlaceholders {
            let pieces = message.placeholders.pieces(of: text, value: phone.value(of:)) { mark in
                var piece: [UInt8] = []
                CompiledAPNsPayload.append(mark: mark, badge: badge ?? 0, to: &piece)
                return piece
            }
            bytes = text.bytes(filledWith: pieces)
        }
        return NotificationPreview(
            provider: .apns,
            push: NotificationPreview.Push(
                body: bytes, payloadBytes: payload.withPlaceholders == nil ? payload.bytesMax : bytes.count,
                payloadBytesMax: APNsPushTypes.row(for: notification.pushType).payloadBytesMax,
                terms: [
                    JSONMember("push_type", .string(notification.pushType.name)),
                    JSONMember("priority", .number(.whole(Int64(notification.priority)))),
                ]))
    }

    private func android(
        _ message: CompiledMessage, _ variant: Int, _ badge: Int32?, _ phone: PreviewDevice
    ) -> NotificationPreview {
        guard let push = message.fcm else { return NotificationPreview(provider: .fcm, push: nil) }
        let now = Clocks.wallNow()
        let expiresAt = now + .seconds(86_400)
        let frame = push.frame(variant: variant, expiresAt: expiresAt, now: now)
        let token = Array(Self.tokenShown.utf8)
        var bytes = frame.prefix
        push.appendPlaceholder(token: token.span, badge: badge, variant: variant, to: &bytes)
        bytes += frame.suffix
        var payloadBytes = push.payloadBytes
        if let text = push.withPlaceholders(variant: variant) {
            let pieces = message.placeholders.pieces(of: text, value: phone.value(of:)) { mark in
                if let time = push.time(mark: mark, expiresAt: expiresAt, now: now) { return time }
                var piece: [UInt8] = []
                FCMMessage.append(mark: mark, token: token.span, badge: badge ?? 0, to: &piece)
                return piece
            }
            bytes = text.bytes(filledWith: pieces)
            payloadBytes = push.payloadBytes(variant: variant, pieceBytes: pieces.map(\.count))
        }
        return NotificationPreview(
            provider: .fcm,
            push: NotificationPreview.Push(
                body: bytes, payloadBytes: payloadBytes, payloadBytesMax: FCMLimits.payloadBytesMax, terms: []))
    }
}

/// The device whose phones are previewed: its locale, and its own values.
struct PreviewDevice {
    let locale: String?
    /// The gateway's answer about the named device; nil: no device, so that placeholders show their defaults.
    let device: JSONValue?

    func value(of field: DeviceField) -> [UInt8]? {
        var value = device
        switch field {
        case .text(let field): value = value?.object?[field.rawValue]
        case .attribute(let path):
            value = value?.object?["attributes"]
            for name in path.names { value = value?.object?[name] }
        }
        switch value {
        case .string(let text): return Array(text.utf8)
        case .number, .bool: return value?.bytes
        case .null, .array, .object, nil: return nil
        }
    }
}

/// The part of a message that one provider's phone gets.
private struct NotificationPreview {
    let provider: Provider
    /// nil: the phone gets nothing.
    let push: Push?

    struct Push {
        /// The body that is sent to the provider.
        let body: [UInt8]
        let payloadBytes: Int
        let payloadBytesMax: Int
        /// Headers beside the body: push type and priority.
        let terms: [JSONMember]
    }

    /// - Parameter badge: the badge to show if the body's number is only an example.
    func lines(app: String, badge: String?) -> [String] {
        let phone = provider == .apns ? "An iPhone" : "An Android phone"
        guard let push else { return ["\(phone) does not receive it."] }
        let sizes = "\(push.payloadBytes) of \(push.payloadBytesMax) bytes"
        let value = try? JSONReader.read(push.body, limits: .trusted)
        let title: String
        let picture: NotificationDrawing?
        if provider == .apns {
            let terms = JSONValue.object(JSONObject(push.terms))
            title = "\(phone): push type \(terms.shown("push_type")), priority \(terms.shown("priority")), \(sizes)"
            picture = value.map { NotificationDrawing(apns: $0, app: app, badge: badge) }
        } else {
            title = "\(phone): \(sizes) of notification and data"
            picture = value.map { NotificationDrawing(fcm: $0, app: app, badge: badge) }
        }
        return [title] + (picture?.lines ?? []) + ["  " + String(decoding: push.body, as: UTF8.self)]
    }

    var json: JSONValue {
        guard let push else { return .null }
        let body = (try? JSONReader.read(push.body, limits: .trusted)) ?? .null
        return .object(
            JSONObject(
                push.terms + [
                    JSONMember("payload_bytes", .number(.whole(Int64(push.payloadBytes)))),
                    JSONMember("payload_bytes_max", .number(.whole(Int64(push.payloadBytesMax)))),
                    JSONMember("body", body),
                ]))
    }
}
