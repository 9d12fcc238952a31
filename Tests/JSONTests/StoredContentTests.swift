import JSON
import PushModel
import Testing

@Suite("A message's content in the database")
struct StoredContentTests {
    private static let contents: [MessageContent] = [
        MessageContent(),
        MessageContent(
            notification: NotificationText(title: "Carillon", subtitle: "Noon", body: "Twelve o'clock"),
            badge: .increment, sound: "default",
            data: [
                DataMember(name: "article", json: JSONText("42")),
                DataMember(name: "a", json: JSONText(["deep": [1, .null, true]])),
            ],
            options: MessageOptions(priority: .high, ttlSeconds: 3_600, collapseID: "noon"),
            apns: JSONText(["aps": ["interruption-level": "time-sensitive", "sound": .null]])),
        MessageContent(
            badge: .value(0), options: MessageOptions(priority: .normal, ttlSeconds: 0, pushType: .background)),
        MessageContent(notification: NotificationText(), badge: .value(.max)),
    ]

    @Test("comes back as it was", arguments: contents)
    func roundTrip(content: MessageContent) throws {
        #expect(try StoredContent.decode(StoredContent.encode(content), format: StoredContent.format) == content)
    }

    @Test("is left alone where its format is of a later version")
    func laterFormat() {
        #expect(throws: StoredContentFault.unknownFormat(2)) {
            try StoredContent.decode(StoredContent.encode(MessageContent()), format: 2)
        }
    }

    @Test(
        "is refused where it is damaged", arguments: ["", "{}", "[]", #"{"push_type":99}"#, #"{"push_type":"alert"}"#])
    func damaged(text: String) {
        #expect(throws: StoredContentFault.damaged) { try StoredContent.decode(Array(text.utf8), format: 1) }
    }
}
