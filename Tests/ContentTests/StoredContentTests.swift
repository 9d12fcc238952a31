import Content
import Model
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
            overrides: [.apns: JSONText(["aps": ["interruption-level": "time-sensitive", "sound": .null]])]),
        MessageContent(
            badge: .value(0), options: MessageOptions(priority: .normal, ttlSeconds: 0, pushType: .background)),
        MessageContent(notification: NotificationText(), badge: .value(.max)),
        MessageContent(
            notification: NotificationText(body: "Noon", image: "https://a.example/n.png", link: "app://noon"),
            localizations: [Localization(locale: "fr", text: NotificationText(link: "app://midi"))],
            presentation: NotificationPresentation(
                category: "NEWS", channel: "news", thread: "t1", interruption: .timeSensitive)),
    ]
    private static let richContents: [MessageContent] =
        [
            MessageContent(
                notification: NotificationText(title: "Carillon", body: "Twelve o'clock"),
                localizations: [
                    Localization(locale: "fr", text: NotificationText(body: "Midi")),
                    Localization(locale: "de-AT", text: NotificationText(title: "Turmuhr", body: "")),
                ]),
            MessageContent(overrides: [.fcm: JSONText(["android": ["notification": ["channel_id": "news"]]])]),
            MessageContent(sound: "default", options: MessageOptions(isDryRun: true)),
        ]
        + PushType.allCases.filter { $0 != .alert && $0 != .background }.map {
            MessageContent(options: MessageOptions(pushType: $0))
        }

    @Test("survives a round trip through its stored form", arguments: contents + richContents + templates)
    func roundTrip(content: MessageContent) throws {
        #expect(try StoredContent.decode(StoredContent.encode(content), format: StoredContent.format) == content)
    }

    private static let templates = [
        MessageContent(notification: NotificationText(body: "Hi {{user}}"), isTemplate: true),
        MessageContent(options: MessageOptions(pushType: .voip), isTemplate: true),
    ]

    @Test("fails to decode in an unknown format, and the error names the format", arguments: [Int16(0), 2, 101])
    func unknownFormat(format: Int16) {
        #expect(throws: StoredContentFault.unknownFormat(format)) {
            try StoredContent.decode(StoredContent.encode(MessageContent()), format: format)
        }
    }

    @Test(
        "fails to decode if it is damaged",
        arguments: ["", "{}", "[]", #"{"push_type":99}"#, #"{"push_type":"alert"}"#])
    func damaged(text: String) {
        #expect(throws: StoredContentFault.damaged) { try StoredContent.decode(Array(text.utf8), format: 1) }
    }
}
