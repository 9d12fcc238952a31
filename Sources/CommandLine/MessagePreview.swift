import CompiledMessages
import Content
import Encodings
import JSON
import Model
import ProviderInterface
import Providers
import Reactor
import Requests

/// A preview of what phones would get of a message. The gateway's own code builds it, without a gateway.
struct MessagePreview {
    private let compiled: [CompiledMessage]
    private let contents: [MessageContent]
    let choice: TextChoice
    private let asked: [Provider]?
    private let app: String
    /// The next badge of a phone whose badge is 0, shown where each phone has its own next number.
    private static let nextBadge: Int32 = 1

    init(_ body: [UInt8], app: String) throws(CommandFault) {
        self.app = app
        let request: MessageRequest
        do { request = try MessageRequest.read(body) } catch { throw Self.refused(error) }
        choice = TextChoice(request.contents[0])
        asked = request.audience.providersAsked
        var compiled: [CompiledMessage] = []
        for content in request.contents {
            let random = (Entropy.uint64(), Entropy.uint64())
            let id = MessageID(UUIDv7.make(at: Clocks.wallNow(), random: random))
            let message = CompiledMessage(content, message: id)
            do throws(ContentFault) { try message.check(asked: asked) } catch {
                throw Self.refused(Problem(error))
            }
            compiled.append(message)
        }
        self.compiled = compiled
        contents = request.contents
    }

    var isTemplate: Bool { compiled.contains { !$0.placeholders.isEmpty } }
    /// Whether devices of different languages get different texts.
    var isLocalized: Bool { !contents[0].localizations.isEmpty }

    private static func refused(_ problem: Problem) -> CommandFault {
        CommandFault(status: problem.code.status, body: problem.body)
    }

    func lines(_ phone: PreviewDevice) -> [String] {
        var lines: [String] = []
        let variant = variant(for: phone)
        for (place, previews) in previews(phone).enumerated() {
            let content = contents[place]
            let text = LocaleTable.texts(content.notification, content.localizations)[variant]
            if compiled.count > 1 { lines.append("message \(place + 1) of \(compiled.count)") }
            let badge = content.badge == .increment ? "+1" : nil
            for preview in previews {
                lines += preview.lines(app: app, badge: badge)
                if preview.push != nil {
                    lines += PreviewRemarks.lines(
                        about: text, content.presentation, sound: content.sound, on: preview.provider)
                }
                lines.append("")
            }
        }
        return lines
    }

    /// The pushes of each message, by provider.
    func messages(_ phone: PreviewDevice) -> [JSONValue] {
        previews(phone).map { previews in
            JSONValue.object(JSONObject(previews.map { JSONMember($0.provider.name, $0.json) }))
        }
    }

    private func variant(for phone: PreviewDevice) -> Int { phone.locale.map { choice.variant(for: $0) } ?? 0 }

    private func previews(_ phone: PreviewDevice) -> [[NotificationPreview]] {
        let variant = variant(for: phone)
        return zip(compiled, contents).map { message, content in
            let device = PreviewedDevice(
                variant: variant, badge: Self.number(content.badge), now: Clocks.wallNow(),
                placeholders: message.placeholders, value: phone.value(of:))
            return PushProviders.offered.map { provider in
                let isAsked = asked?.contains(provider.id) ?? true
                let isBlank = message.isBlank(in: variant, by: provider.id, value: phone.value(of:))
                return NotificationPreview(
                    provider: provider.id,
                    push: isAsked && !isBlank ? message.push(for: provider.id)?.preview(device) : nil, isBlank: isBlank)
            }
        }
    }

    private static func number(_ change: BadgeChange) -> Int32? {
        switch change {
        case .none: nil
        case .increment: nextBadge
        case .value(let number): number
        }
    }
}

struct PreviewDevice {
    let locale: String?
    /// The gateway's answer about the named device; nil: no device, so that placeholders show their defaults.
    let device: JSONValue?

    func value(of field: DeviceField) -> [UInt8]? {
        var value = device
        switch field {
        case .text(let field): value = value?.object?[field.name]
        case .attribute(let path):
            value = value?.object?["attributes"]
            for name in path.names { value = value?.object?[name] }
        case .own: return nil
        }
        switch value {
        case .string(let text): return Array(text.utf8)
        case .number, .bool: return value?.bytes
        case .null, .array, .object, nil: return nil
        }
    }
}

private struct NotificationPreview {
    let provider: Provider
    /// nil: the phone gets no push.
    let push: PushPreview?
    /// No text is left that the phone would show.
    let isBlank: Bool

    /// - Parameter badge: the badge to show if the body's number is only an example.
    func lines(app: String, badge: String?) -> [String] {
        guard let push else {
            let reason = isBlank ? ": no visible text is left for it (nothing_to_show)" : ""
            return ["\(phone) does not receive it\(reason)."]
        }
        let counted = push.countedParts.isEmpty ? "" : " of \(push.countedParts)"
        let terms = JSONValue.object(JSONObject(push.terms))
        let facts =
            push.terms.map { "\($0.name.replacing("_", with: " ")) \(terms.shown($0.name))" }
            + ["\(push.payloadBytes) of \(push.payloadBytesMax) bytes\(counted)"]
        let picture = (try? JSONReader.read(push.body, limits: .trusted)).flatMap { body in
            PushProviders.offered(provider)?.picture(of: body, badge: badge)
        }
        return ["\(phone): \(facts.joined(separator: ", "))"]
            + (picture.map { NotificationDrawing($0, app: app).lines } ?? [])
            + ["  " + String(decoding: push.body, as: UTF8.self)]
    }

    private var phone: String { PushProviders.offered(provider)?.deviceName ?? provider.name }

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
