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
    /// What only format 2 can say.
    private static let laterContents: [MessageContent] =
        [
            MessageContent(
                notification: NotificationText(title: "Carillon", body: "Twelve o'clock"),
                localizations: [
                    Localization(locale: "fr", text: NotificationText(body: "Midi")),
                    Localization(locale: "de-AT", text: NotificationText(title: "Turmuhr", body: "")),
                ]),
            MessageContent(fcm: JSONText(["android": ["notification": ["channel_id": "news"]]])),
            MessageContent(sound: "default", options: MessageOptions(isDryRun: true)),
        ]
        + PushType.allCases.filter { $0 != .alert && $0 != .background }.map {
            MessageContent(options: MessageOptions(pushType: $0))
        }

    @Test("comes back as it was", arguments: contents + laterContents + templates)
    func roundTrip(content: MessageContent) throws {
        let format = StoredContent.format(of: content)
        #expect(try StoredContent.decode(StoredContent.encode(content), format: format) == content)
    }

    /// What only format 3 can say.
    private static let templates = [
        MessageContent(notification: NotificationText(body: "Hi {{user}}"), isTemplate: true),
        MessageContent(options: MessageOptions(pushType: .voip), isTemplate: true),
    ]

    @Test("has the oldest format that can hold it, so that the program before this one goes on sending it")
    func oldestFormat() {
        for content in Self.contents { #expect(StoredContent.format(of: content) == 1) }
        for content in Self.laterContents { #expect(StoredContent.format(of: content) % 100 == 2) }
        #expect(Self.templates.map(StoredContent.format) == [3, 103])
    }

    @Test("says in its format which topic it goes to, so that the program before this one leaves it alone")
    func services() {
        let formats = PushType.allCases.map { type in
            StoredContent.format(of: MessageContent(options: MessageOptions(pushType: type)))
        }
        // In the order of the types' numbers: alert, background, voip, complication, file provider, and the rest.
        #expect(formats == [1, 1, 102, 202, 302, 2, 2, 2, 2, 2, 2])
    }

    @Test("is left alone where its format is of a later version", arguments: [Int16(4), 104, 304])
    func laterFormat(format: Int16) {
        #expect(throws: StoredContentFault.unknownFormat(format)) {
            try StoredContent.decode(StoredContent.encode(MessageContent()), format: format)
        }
    }

    @Test(
        "is refused where it is damaged", arguments: ["", "{}", "[]", #"{"push_type":99}"#, #"{"push_type":"alert"}"#])
    func damaged(text: String) {
        #expect(throws: StoredContentFault.damaged) { try StoredContent.decode(Array(text.utf8), format: 1) }
    }
}
