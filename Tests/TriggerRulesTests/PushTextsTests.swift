import Content
import JSON
import Model
import Testing
import TriggerRules

@Suite("A push template")
struct PushTextsTests {
    private static let fields = ["stock_name", "last_price", "a&b"]

    /// A content whose texts, ids and members are all different, each with this text at its end.
    private static func content(_ end: String) -> MessageContent {
        MessageContent(
            notification: NotificationText(
                title: "1" + end, subtitle: "2" + end, body: "3" + end, image: "https://a.example/4" + end,
                link: "app://5" + end),
            localizations: [Localization(locale: "fr", text: NotificationText(body: "6" + end))],
            presentation: NotificationPresentation(
                category: "7" + end, channel: "8" + end, thread: "9" + end, interruption: .active),
            badge: .increment, sound: "10" + end,
            data: [
                DataMember(name: "item", json: JSONText(.string("11" + end))),
                DataMember(name: "$[1]", json: JSONText(["deep": [12, .string("13" + end), ["${x}": .string(end)]]])),
            ],
            options: MessageOptions(collapseID: "${kept}"),
            overrides: [
                .apns: JSONText(["aps": ["alert": .string("14" + end)]]),
                .fcm: JSONText(["data": ["k": .string("15" + end)]]),
            ])
    }

    @Test("has the fields' texts in each of its texts, and its names as they were")
    func fills() {
        let filled = Self.content(" is ${last_price}, $[1]").filled(with: ["Anduct", "2.84", nil], of: Self.fields)
        var expected = Self.content(" is 2.84, Anduct")
        // Addresses have no blanks; these only show what is encoded.
        #expect(filled == expected)
        expected = Self.content(" is 2.84, ")
        #expect(Self.content(" is ${last_price}, $[1]").filled(with: [nil, "2.84", nil], of: Self.fields) == expected)
    }

    @Test("percent-encodes values in addresses, and in no other text")
    func addresses() {
        let content = MessageContent(
            notification: NotificationText(
                body: "$[3]", image: "https://a.example/${a&b}.png", link: "app://x?n=$[1]&p=1"))
        let filled = content.filled(with: ["A & B", nil, "ä/?"], of: Self.fields)
        #expect(filled.notification?.body == "ä/?")
        #expect(filled.notification?.image == "https://a.example/%C3%A4%2F%3F.png")
        #expect(filled.notification?.link == "app://x?n=A%20%26%20B&p=1")
    }

    @Test("leaves out an id that shows nothing without the field's text")
    func emptyIDs() {
        var content = MessageContent(
            presentation: NotificationPresentation(category: "$[1]", channel: " $[2]", thread: "$[3]"))
        content = content.filled(with: ["news", " ", nil], of: Self.fields)
        #expect(content.presentation == NotificationPresentation(category: "news"))
    }

    @Test("takes values as they are, also those that look like a template")
    func values() throws {
        let content = MessageContent(
            notification: NotificationText(body: "$[1]"),
            data: [DataMember(name: "k", json: JSONText("${last_price}"))])
        let filled = content.filled(with: ["{{user}} ${last_price}", "\"\\\n$[1]", nil], of: Self.fields)
        #expect(filled.notification?.body == "{{user}} ${last_price}")
        #expect(try filled.data[0].json.value() == "\"\\\n$[1]")
        #expect(!filled.isTemplate)
        let stored = try StoredContent.decode(StoredContent.encode(filled), format: StoredContent.format)
        #expect(stored == filled)
    }

    /// A fault in each text of a message, by its place.
    private static let places: [(MessageContent, [String])] = [
        (MessageContent(notification: NotificationText(title: "é {{")), ["notification", "title"]),
        (MessageContent(notification: NotificationText(subtitle: "é {{")), ["notification", "subtitle"]),
        (MessageContent(notification: NotificationText(body: "é {{")), ["notification", "body"]),
        (MessageContent(notification: NotificationText(image: "é {{")), ["notification", "image"]),
        (MessageContent(notification: NotificationText(link: "é {{")), ["notification", "link"]),
        (
            MessageContent(localizations: [Localization(locale: "fr", text: NotificationText(body: "é {{"))]),
            ["notification", "localizations", "fr", "body"]
        ),
        (MessageContent(presentation: NotificationPresentation(category: "é {{")), ["notification", "category"]),
        (MessageContent(presentation: NotificationPresentation(channel: "é {{")), ["notification", "channel"]),
        (MessageContent(presentation: NotificationPresentation(thread: "é {{")), ["notification", "thread"]),
        (MessageContent(sound: "é {{"), ["sound"]),
        (MessageContent(data: [DataMember(name: "k", json: JSONText("é {{"))]), ["data", "k"]),
        (
            MessageContent(data: [DataMember(name: "{{", json: JSONText(["a/b": [1, "é {{"]]))]),
            ["data", "{{", "a/b", "1"]
        ),
        (MessageContent(overrides: [.apns: JSONText(["aps": ["sound": "é {{"]])]), ["apns", "aps", "sound"]),
        (MessageContent(overrides: [.fcm: JSONText(["data": ["k": "é {{"]])]), ["fcm", "data", "k"]),
    ]

    @Test("reports the place of the faulty text, and the character in it", arguments: 0..<places.count)
    func faults(place: Int) {
        let (content, tokens) = Self.places[place]
        let fault = PushTextFault(
            .invalid(.doubleBrace, offset: 3), at: JSONPointer(tokens: tokens), position: 3)
        #expect(throws: fault) { try content.checked(fields: Self.fields) }
    }

    @Test("takes fields of the subscription in all texts, and anything in names")
    func valid() throws {
        try Self.content(" ${stock_name} $[3] $5").checked(fields: Self.fields)
        let names = JSONText(["{{": ["${": ["$[9]": 1]]])
        try MessageContent(data: [DataMember(name: "${bid}", json: names)]).checked(fields: [])
    }

    @Test("names no field outside the subscription")
    func otherField() {
        let content = MessageContent(notification: NotificationText(body: "Now ${bid}"))
        let fault = PushTextFault(
            .fieldNotSubscribed("bid", offset: 4), at: .root / "notification" / "body", position: 5)
        #expect(throws: fault) { try content.checked(fields: Self.fields) }
    }

    @Test("has at most 256 fields in all its texts")
    func limit() throws {
        let text = JSONText(.string(String(repeating: "$[1]", count: 64)))
        var content = MessageContent(data: (0..<4).map { DataMember(name: "k\($0)", json: text) })
        try content.checked(fields: Self.fields)
        content.overrides[.fcm] = JSONText(["k": "${stock_name}"])
        let fault = PushTextFault(.invalid(.tooManyFieldsInAll, offset: 0), at: .root / "fcm" / "k", position: 1)
        #expect(throws: fault) { try content.checked(fields: Self.fields) }
    }
}
