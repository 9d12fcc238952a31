import Basis
import Delivery
import Encodings
import JSON
import Model
import Testing

@Suite("A message whose door asked one provider alone")
struct CompiledMessageTests {
    private static let id = MessageID(UUIDv7.make(at: WallInstant(secondsSince1970: 1_760_000_000), random: (1, 2)))

    private static func content(_ name: String, _ text: String) -> MessageContent {
        var content = MessageContent()
        content.notification = NotificationText(body: "Noon")
        content.data = [DataMember(name: name, json: JSONText(.string(text)))]
        return content
    }

    @Test("has no form for the other's devices, and ends there with the fault's word")
    func reservedName() throws {
        let content = Self.content("from", "x")
        #expect(throws: ContentFault.self) { try CompiledMessage.compile(content, message: Self.id) }
        _ = try CompiledMessage.compile(content, message: Self.id, providers: [.apns])
        let stored = CompiledMessage.compile(stored: content, message: Self.id)
        #expect(stored.apns != nil && stored.fcm == nil)
        #expect(stored.rejection(by: .fcm) == Rejection(fault: .message, reason: "reserved_key"))
    }

    @Test("likewise where it is too large for them")
    func tooLarge() {
        let stored = CompiledMessage.compile(
            stored: Self.content("k", String(repeating: "x", count: 4_000)), message: Self.id)
        #expect(stored.apns != nil && stored.fcm == nil)
        #expect(stored.rejection(by: .fcm).reason == "payload_too_large")
    }

    @Test("has nothing to show them where nothing is wrong with it but that")
    func silent() {
        var content = MessageContent()
        content.apns = JSONText(.object(JSONObject([JSONMember("aps", .object(JSONObject([JSONMember("badge", 1)])))])))
        let stored = CompiledMessage.compile(stored: content, message: Self.id)
        #expect(stored.apns != nil && stored.fcm == nil)
        #expect(stored.rejection(by: .fcm).reason == "nothing_to_show")
        var call = content
        call.options.pushType = .voip
        #expect(CompiledMessage.compile(stored: call, message: Self.id).rejection(by: .fcm).reason == "nothing_to_show")
    }

    @Test("is held against whom its app reaches, and against whom it has an object for")
    func asked() {
        let plain = Self.content("k", "x")
        var withObject = plain
        withObject.fcm = JSONText(.object(JSONObject([])))
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
        "leave before others where the parcel is transactional",
        arguments: [TemplateWorld.topic, TemplateWorld.project])
    func urgency(target: PushTarget) async throws {
        let content = MessageContent(notification: NotificationText(body: "Your code"))
        let message = try CompiledMessage.compile(content, message: TemplateWorld.id)
        for urgency in [MessageUrgency.transactional, .bulk] {
            let world = TemplateWorld(message, [[]], urgency: urgency)
            #expect(try await world.pushes(to: target).batch.isUrgent == (urgency == .transactional))
        }
    }
}
