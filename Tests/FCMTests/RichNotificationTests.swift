import FCM
import JSON
import Model
import Testing

@Suite("A notification for FCM")
struct RichNotificationTests {
    private static let id = "0192f3a4-b5c6-7d8e-8f01-234567890abc"

    private func member(_ content: MessageContent, _ path: String) throws -> JSONValue? {
        let message = try JSONReader.read(Array(try body(content, badge: 1).utf8))
        return message.value(at: try #require(JSONPointer("/message" + path)))
    }

    @Test("names picture, link and id in a platform's own data too, which replaces the common data")
    func ownData() throws {
        var content = MessageContent(
            notification: NotificationText(body: "Noon", image: "https://a.example/n.png", link: "app://noon"))
        content.overrides[.fcm] = try json(
            #"{"data":{"carillon_image":null},"android":{"data":{"k":"v"}},"webpush":{"data":{"carillon_link":"/"}}}"#)
        #expect(
            try member(content, "/android/data") == [
                "k": "v", "carillon_id": .string(Self.id), "carillon_link": "app://noon",
            ])
        #expect(try member(content, "/webpush/data") == ["carillon_link": "/", "carillon_id": .string(Self.id)])
    }

    @Test("sends no picture without a text, which Android would show as an empty notification")
    func pictureAlone() throws {
        let content = MessageContent(notification: NotificationText(image: "https://a.example/n.png"), badge: .value(1))
        #expect(try member(content, "/notification") == nil)
    }

    @Test("gives Apple's devices a critical alert's sound in the form that a muted phone plays")
    func criticalSound() throws {
        var content = MessageContent(notification: NotificationText(body: "Smoke"), sound: "bell.caf")
        content.presentation.interruption = .critical
        #expect(
            try member(content, "/apns/payload/aps/sound") == ["critical": 1, "name": "bell.caf", "volume": 1])
        #expect(try member(content, "/android/notification/sound") == "bell.caf")
    }
}
