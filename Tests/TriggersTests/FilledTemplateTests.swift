import Basis
import CompiledMessages
import Content
import JSON
import Model
import ProviderInterface
import Providers
import TestSupport
import Testing
import TriggerRules
import Triggers

@Suite("A push template that is filled with the texts of an item's fields")
struct FilledTemplateTests {
    private static let fields = ["stock_name", "last_price"]
    private static let message = MessageID(UniversalID(high: 0x0192_f3a4_b5c6_7d8e, low: 0x8f01_2345_6789_0abc))
    private static let now = WallInstant(secondsSince1970: 1_796_122_800)
    /// Everything that JSON escapes, or that one of the template languages reads.
    private static let awkward = "He said \"2.84\" {\\} \n\u{1}\u{2028} é ${last_price} $[1] {{user}} }]"

    private static func filled(_ template: MessageContent, _ texts: [String?]) throws -> FilledTemplate {
        try #require(FilledTemplate(StoredContent.encode(template), texts: texts, of: fields))
    }

    /// Returns a part of the body that a provider gets for a device.
    private static func part(
        _ path: String, of filled: FilledTemplate, for provider: Provider, badge: Int32? = nil
    ) throws -> JSONValue? {
        let compiled = filled.compiled(as: message, for: [provider])
        let push = try #require(compiled.push(for: provider))
        let device = PreviewedDevice(
            variant: 0, badge: badge, now: now, placeholders: compiled.placeholders, value: { _ in nil })
        return try JSONReader.read(push.preview(device).body).value(at: try #require(JSONPointer(path)))
    }

    /// A message with a name and a price in each place that takes fields.
    private static func content(name: String, price: String) -> MessageContent {
        MessageContent(
            notification: NotificationText(title: "Stock \(name)", subtitle: price, body: "\(name) is now \(price)!"),
            localizations: [Localization(locale: "fr", text: NotificationText(body: "\(name) vaut \(price)"))],
            presentation: NotificationPresentation(category: "c-\(name)", channel: "n-\(name)", thread: "t-\(name)"),
            sound: "\(name).caf",
            data: [
                DataMember(name: "price", json: JSONText(.string(price))),
                DataMember(name: "deep", json: JSONText(["of": ["x", .string("\(name) \(price)"), 7]])),
            ],
            overrides: [
                .apns: JSONText(["aps": ["target-content-id": .string("id-\(name)")]]),
                .fcm: JSONText(["android": ["notification": ["ticker": .string("\(name) \(price)")]]]),
            ])
    }

    @Test("has the texts in every place, whether the template names or numbers the fields")
    func everyPlace() throws {
        let expected = Self.content(name: "Anduct", price: "2.84")
        for template in [
            Self.content(name: "${stock_name}", price: "$[2]"), Self.content(name: "$[1]", price: "${last_price}"),
        ] {
            let filled = try Self.filled(template, ["Anduct", "2.84"])
            #expect(filled.content == expected)
            #expect(try StoredContent.decode(filled.stored, format: StoredContent.format) == expected)
        }
    }

    @Test("leaves the place of a field without a value empty")
    func missing() throws {
        let template = Self.content(name: "${stock_name}", price: "${last_price}")
        #expect(try Self.filled(template, ["Anduct", nil]).content == Self.content(name: "Anduct", price: ""))
    }

    @Test("raises the badge of each device by one if the template does")
    func increment() throws {
        let template = MessageContent(notification: NotificationText(body: "Now ${last_price}"), badge: .increment)
        let filled = try Self.filled(template, [nil, "2.84"])
        #expect(filled.content.badge == .increment)
        #expect(try Self.part("/aps/badge", of: filled, for: .apns, badge: 4) == 4)
        #expect(try Self.part("/message/android/notification/notification_count", of: filled, for: .fcm, badge: 4) == 4)
    }

    @Test("stays data alone if the template is")
    func dataAlone() throws {
        var template = MessageContent(
            data: [DataMember(name: "price", json: JSONText("${last_price}"))],
            options: MessageOptions(priority: .high, pushType: .background))
        template.options.ttlSeconds = 300
        let filled = try Self.filled(template, ["Anduct", "2.84"])
        #expect(try Self.part("/message/data/price", of: filled, for: .fcm) == "2.84")
        for shown in ["/message/notification", "/message/android/notification", "/message/webpush/notification"] {
            #expect(try Self.part(shown, of: filled, for: .fcm) == nil, "\(shown)")
        }
        #expect(filled.content.options == template.options)
    }

    @Test("carries quotation marks, braces and control characters unchanged to APNs")
    func escapedForAPNs() throws {
        let filled = try Self.filled(Self.escaping, [Self.awkward, nil])
        #expect(try Self.part("/aps/alert/body", of: filled, for: .apns) == .string("<\(Self.awkward)>"))
        #expect(try Self.part("/text", of: filled, for: .apns) == .string(Self.awkward))
        #expect(try Self.part("/deep/of/0", of: filled, for: .apns) == .string(Self.awkward))
    }

    @Test("carries quotation marks, braces and control characters unchanged to FCM")
    func escapedForFCM() throws {
        let filled = try Self.filled(Self.escaping, [Self.awkward, nil])
        #expect(try Self.part("/message/notification/body", of: filled, for: .fcm) == .string("<\(Self.awkward)>"))
        #expect(try Self.part("/message/data/text", of: filled, for: .fcm) == .string(Self.awkward))
        // FCM carries strings alone, so this one is JSON once more.
        let deep = try #require(try Self.part("/message/data/deep", of: filled, for: .fcm)?.string)
        #expect(try JSONReader.read(Array(deep.utf8)) == ["of": [.string(Self.awkward)]])
    }

    private static let escaping = MessageContent(
        notification: NotificationText(body: "<${stock_name}>"),
        data: [
            DataMember(name: "text", json: JSONText("${stock_name}")),
            DataMember(name: "deep", json: JSONText(["of": ["$[1]"]])),
        ])

    @Test("makes a message even if it becomes too large for a provider", arguments: PushProviders.offered.map(\.id))
    func tooLarge(provider: Provider) throws {
        let template = MessageContent(notification: NotificationText(body: "Now ${last_price}"))
        let filled = try Self.filled(template, [nil, String(repeating: "9", count: 5_000)])
        let compiled = filled.compiled(as: Self.message, for: [provider])
        #expect(compiled.push(for: provider) == nil)
        #expect(compiled.rejection(by: provider) == Rejection(fault: .message, reason: "payload_too_large"))
    }

    @Test("clips fields that no provider can carry, which reject it", arguments: PushProviders.offered.map(\.id))
    func clipped(provider: Provider) throws {
        let fields = String(repeating: "$[2]", count: 64)
        let template = MessageContent(
            notification: NotificationText(body: fields),
            localizations: [Localization(locale: "fr", text: NotificationText(body: "${stock_name}"))])
        let filled = try Self.filled(template, ["Anduct", String(repeating: "9", count: 16_000)])
        #expect(filled.content.notification?.body?.utf8.count == MessageContent.pushFieldBytesMax)
        #expect(filled.content.localizations[0].text.body == "Anduct")
        let compiled = filled.compiled(as: Self.message, for: [provider])
        #expect(compiled.rejection(by: provider) == Rejection(fault: .message, reason: "payload_too_large"))
    }

    @Test("makes a message even if the texts leave nothing to show", arguments: PushProviders.offered.map(\.id))
    func blank(provider: Provider) throws {
        let template = MessageContent(notification: NotificationText(body: "${last_price}"), badge: .increment)
        let compiled = try Self.filled(template, ["Anduct", nil]).compiled(as: Self.message, for: [provider])
        #expect(compiled.isBlank(in: 0, by: provider, value: { _ in nil }))
    }

    @Test("makes no message if this version can't read the template")
    func unreadable() {
        for template in ["", "{}", #"{"push_type":99}"#, "${last_price}"] {
            #expect(FilledTemplate(Array(template.utf8), texts: [nil, nil], of: Self.fields) == nil, "\(template)")
        }
    }
}
