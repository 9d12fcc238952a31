import Basis
import CompiledMessages
import Content
import Encodings
import JSON
import Model
import ProviderInterface
import Testing

@Suite("A message that was validated for one provider only")
struct CompiledMessageTests {
    private static let id = MessageID(UUIDv7.make(at: WallInstant(secondsSince1970: 1_760_000_000), random: (1, 2)))

    private static func content(_ name: String, _ text: String) -> MessageContent {
        var content = MessageContent()
        content.notification = NotificationText(body: "Noon")
        content.data = [DataMember(name: name, json: JSONText(.string(text)))]
        return content
    }

    @Test("ends for the other provider's devices with the fault as reason")
    func reservedName() throws {
        let content = Self.content("from", "x")
        let message = CompiledMessage(content, message: Self.id)
        #expect(throws: ContentFault.self) { try message.check() }
        try message.check(asked: [.apns])
        #expect(message.push(for: .apns) != nil && message.push(for: .fcm) == nil)
        #expect(message.rejection(by: .fcm) == Rejection(fault: .message, reason: "reserved_key"))
    }

    @Test("ends as too large for the other provider's devices")
    func tooLarge() {
        let message = CompiledMessage(Self.content("k", String(repeating: "x", count: 4_048)), message: Self.id)
        #expect(message.push(for: .apns) != nil && message.push(for: .fcm) == nil)
        #expect(message.rejection(by: .fcm).reason == "payload_too_large")
    }

    @Test("ends with nothing to show on the other provider's devices")
    func silent() {
        var content = MessageContent()
        content.overrides[.apns] = JSONText(
            .object(JSONObject([JSONMember("aps", .object(JSONObject([JSONMember("badge", 1)])))])))
        let message = CompiledMessage(content, message: Self.id)
        #expect(message.push(for: .apns) != nil && message.push(for: .fcm) == nil)
        #expect(message.rejection(by: .fcm).reason == "nothing_to_show")
        var call = content
        call.options.pushType = .voip
        #expect(CompiledMessage(call, message: Self.id).rejection(by: .fcm).reason == "nothing_to_show")
    }

    @Test("needs validation for providers that its app reaches or that it has an object for")
    func asked() {
        let plain = Self.content("k", "x")
        var withObject = plain
        withObject.overrides[.fcm] = JSONText(.object(JSONObject([])))
        var call = plain
        call.options.pushType = .voip
        #expect(CompiledMessage.providersAsked(plain, reached: [.apns]) == [.apns])
        #expect(CompiledMessage.providersAsked(plain, reached: [.fcm]) == [.fcm])
        #expect(CompiledMessage.providersAsked(plain, reached: []) == nil)
        #expect(CompiledMessage.providersAsked(withObject, reached: [.apns]) == [.apns, .fcm])
        #expect(CompiledMessage.providersAsked(call, reached: [.fcm]) == nil)
        #expect(CompiledMessage.providersAsked(call, reached: [.apns, .fcm]) == [.apns])
    }
}

@Suite("A parcel's pushes")
struct ParcelUrgencyTests {
    @Test(
        "leave before others if the parcel is transactional",
        arguments: [TemplateWorld.topic, TemplateWorld.project])
    func urgency(target: PushTarget) async throws {
        let content = MessageContent(notification: NotificationText(body: "Your code"))
        let message = CompiledMessage(content, message: TemplateWorld.id)
        for urgency in [MessageUrgency.transactional, .bulk] {
            let world = TemplateWorld(message, [[]], urgency: urgency)
            #expect(try await world.pushes(to: target).batch.isUrgent == (urgency == .transactional))
        }
    }
}
