import Basis
import Content
import FCM
import JSON
import Model
import TestSupport
import Testing

private let id = "0192f3a4-b5c6-7d8e-8f01-234567890abc"
private let digits = "0192f3a4b5c67d8e8f01234567890abc"
private let message = MessageID(UniversalID(high: 0x0192_f3a4_b5c6_7d8e, low: 0x8f01_2345_6789_0abc))
private let now = WallInstant(secondsSince1970: 1_796_122_800)

func json(_ text: String) throws -> JSONText { JSONText(try JSONReader.read(Array(text.utf8))) }

func compile(_ content: MessageContent) throws(ProviderFault) -> FCMMessage {
    try FCMMessage.compile(content, message: message)
}

func body(
    _ content: MessageContent, token: String = "tok:en", badge: Int32? = nil, variant: Int = 0,
    expiresAt: WallInstant = now + .seconds(3_600)
) throws -> String {
    let compiled = try compile(content)
    let frame = compiled.frame(variant: variant, expiresAt: expiresAt, now: now)
    var bytes = frame.prefix
    compiled.appendOwnBytes(token: Array(token.utf8).span, badge: badge, variant: variant, to: &bytes)
    bytes += frame.suffix
    _ = try JSONReader.read(bytes)
    return String(decoding: bytes, as: UTF8.self)
}

func fault(_ content: MessageContent) -> ProviderFault? {
    do throws(ProviderFault) {
        _ = try compile(content)
        return nil
    } catch { return error }
}

private func parsed(_ content: MessageContent, badge: Int32? = nil) throws -> JSONValue {
    try JSONReader.read(Array(try body(content, badge: badge).utf8))
}

private func member(_ content: MessageContent, _ path: String, badge: Int32? = nil) throws -> JSONValue? {
    try parsed(content, badge: badge).value(at: try #require(JSONPointer("/message" + path)))
}

@Suite("A message for FCM")
struct MessageTests {
    private let text = NotificationText(title: "Carillon", body: "Twelve o'clock")

    @Test("carries the notification, a tag and a collapse id from its id, and its remaining life")
    func commonPart() throws {
        #expect(
            try body(MessageContent(notification: text))
                == #"{"message":{"notification":{"title":"Carillon","body":"Twelve o'clock"},"#
                + #""data":{"carillon_id":"\#(id)"},"#
                + #""webpush":{"headers":{"TTL":"3600"},"notification":{"tag":"\#(id)"}},"#
                + #""android":{"priority":"HIGH","ttl":"3600s","notification":{"tag":"\#(id)"}},"token":"tok:en","#
                + #""apns":{"headers":{"apns-collapse-id":"\#(digits)","apns-expiration":"1796126400"}}}}"#)
    }

    @Test("puts each of the sender's options where its platform reads it")
    func everything() throws {
        let content = MessageContent(
            notification: NotificationText(title: "Carillon", subtitle: "Noon", body: "Twelve"), badge: .increment,
            sound: "bell.caf",
            data: [
                DataMember(name: "z", json: try json("\"1\"")), DataMember(name: "a", json: try json("{\"b\":[1.50]}")),
            ],
            options: MessageOptions(priority: .normal, collapseID: "noon", isDryRun: true))
        #expect(
            try body(content, badge: 12)
                == #"{"validate_only":true,"message":{"notification":{"title":"Carillon","body":"Twelve"},"#
                + #""data":{"z":"1","a":"{\"b\":[1.50]}","carillon_id":"\#(id)"},"#
                + #""webpush":{"headers":{"TTL":"3600"},"notification":{"tag":"noon"}},"#
                + #""android":{"priority":"NORMAL","collapse_key":"noon","ttl":"3600s","#
                + #""notification":{"tag":"noon","sound":"bell.caf","notification_count":12}},"token":"tok:en","#
                + #""apns":{"payload":{"aps":{"badge":12,"#
                + #""alert":{"title":"Carillon","subtitle":"Noon","body":"Twelve"},"sound":"bell.caf"}},"#
                + #""headers":{"apns-priority":"5","apns-collapse-id":"noon","apns-expiration":"1796126400"}}}}"#)
    }

    @Test("shows the picture, gives apps the addresses, and tells each platform how to present it")
    func rich() throws {
        let content = MessageContent(
            notification: NotificationText(body: "Noon", image: "https://a.example/n.png", link: "app://noon"),
            presentation: NotificationPresentation(
                category: "NEWS", channel: "news", thread: "t1", interruption: .critical))
        #expect(
            try body(content)
                == #"{"message":{"notification":{"body":"Noon","image":"https://a.example/n.png"},"#
                + #""data":{"carillon_image":"https://a.example/n.png","carillon_link":"app://noon","carillon_id":"\#(id)"},"#
                + #""webpush":{"headers":{"TTL":"3600"},"notification":{"tag":"\#(id)"}},"#
                + #""android":{"priority":"HIGH","ttl":"3600s","notification":{"tag":"\#(id)","channel_id":"news","#
                + #""notification_priority":"PRIORITY_MAX"}},"token":"tok:en","#
                + #""apns":{"payload":{"aps":{"category":"NEWS","thread-id":"t1","interruption-level":"critical","#
                + #""mutable-content":1}},"headers":{"apns-collapse-id":"\#(digits)","apns-expiration":"1796126400"}}}}"#
        )
    }

    @Test(
        "never hurries or delays a push for its interruption level",
        arguments: InterruptionLevel.allCases)
    func interruption(level: InterruptionLevel) throws {
        var content = MessageContent(notification: text, options: MessageOptions(priority: .normal))
        content.presentation.interruption = level
        #expect(try member(content, "/android/priority")?.string == "NORMAL")
        #expect(try member(content, "/apns/headers/apns-priority")?.string == "5")
    }

    @Test("omits the badge of a push that has none")
    func badges() throws {
        let content = MessageContent(notification: text, badge: .value(0), sound: "s")
        let with = try body(content, badge: 0)
        #expect(
            with.contains(
                #""sound":"s","notification_count":0}},"token":"tok:en","apns":{"payload":{"aps":{"badge":0,"sound":"s"}}"#
            ))
        let without = try body(content)
        #expect(without.contains(#""sound":"s"}},"token":"tok:en","apns":{"payload":{"aps":{"sound":"s"}}"#))
        #expect(try body(MessageContent(notification: text), badge: 3) == body(MessageContent(notification: text)))
        // Only a notification has a count on Android. Apple devices take a badge alone.
        let alone = try body(MessageContent(badge: .increment), badge: 3)
        #expect(alone.contains(#""android":{"priority":"NORMAL","ttl":"3600s"},"token":"tok:en","#))
        #expect(alone.contains(#""apns":{"payload":{"aps":{"badge":3}},"headers""#))
        #expect(try body(MessageContent(badge: .increment)).contains(#""apns":{"payload":{"aps":{}},"headers""#))
    }

    @Test(
        "writes the digits of every badge correctly",
        arguments: [0, 1, 9, 10, 99, 100, 1_000_000_007, .max] as [Int32])
    func digitsOfBadges(badge: Int32) throws {
        let content = MessageContent(notification: text, badge: .increment)
        #expect(try member(content, "/android/notification/notification_count", badge: badge)?.integer == Int64(badge))
        #expect(try member(content, "/apns/payload/aps/badge", badge: badge)?.integer == Int64(badge))
    }

    @Test("places its commas correctly around every badge")
    func commas() throws {
        for overrides in [
            #"{"android":{"notification":{"tag":null}}}"#, #"{"apns":{"payload":{"aps":{"x":1}}}}"#,
            #"{"android":null}"#, #"{"apns":null}"#, #"{"android":{"notification":null}}"#,
            #"{"apns":{"payload":null}}"#,
            #"{"apns":{"headers":null,"payload":{"own":[1]}}}"#, #"{"webpush":null,"data":null}"#,
        ] {
            for sound in [nil, "s"] {
                for badge in [nil, 7] as [Int32?] {
                    let content = MessageContent(
                        notification: text, badge: .increment, sound: sound, overrides: [.fcm: try json(overrides)])
                    let count = try member(content, "/android/notification/notification_count", badge: badge)
                    let hasAndroid =
                        !overrides.contains(#""android":null"#) && !overrides.contains(#""notification":null"#)
                    #expect(count?.integer == (hasAndroid ? badge.map { Int64($0) } : nil))
                    let onApple = try member(content, "/apns/payload/aps/badge", badge: badge)
                    let hasApple = !overrides.contains(#""apns":null"#) && !overrides.contains(#""payload":null"#)
                    #expect(onApple?.integer == (hasApple ? badge.map { Int64($0) } : nil))
                    #expect(try member(content, "/token", badge: badge) == "tok:en")
                }
            }
        }
    }

    @Test(
        "carries any registration token unchanged",
        arguments: ["cWJp:APA91bF_x-y", "a\"b\\c", "\u{1}\n\u{1f}\"", "é€😀", "\u{7f}/", "\\\\\\"])
    func tokens(token: String) throws {
        let text = try body(MessageContent(notification: text), token: token)
        #expect(try JSONReader.read(Array(text.utf8)).value(at: .root / "message" / "token")?.string == token)
        #expect(text.hasSuffix(#""apns-expiration":"1796126400"}}}}"#))
    }

    @Test("carries any text unchanged, including the bytes that mark placeholders")
    func controlCharacters() throws {
        let text = "\u{1}\u{2}\u{3}\u{4}\u{5}\"\\"
        let content = MessageContent(
            notification: NotificationText(title: text, subtitle: text, body: text), badge: .increment, sound: text,
            data: [DataMember(name: "a\u{4}", json: JSONText(.string(text)))],
            overrides: [
                .fcm: JSONText([
                    "android": ["notification": ["icon": .string(text)]], "apns": ["payload": ["x": .string(text)]],
                ])
            ])
        for path in [
            "/notification/title", "/notification/body", "/data/a\u{4}", "/android/notification/sound",
            "/android/notification/icon", "/apns/payload/aps/alert/subtitle", "/apns/payload/x",
        ] { #expect(try member(content, path, badge: 3)?.string == text, "\(path)") }
        #expect(try member(content, "/token", badge: 3) == "tok:en")
        #expect(try member(content, "/apns/payload/aps/badge", badge: 3) == 3)
    }

    @Test("expires after the remaining time, rounded down and limited to four weeks")
    func timeToLive() throws {
        func times(_ left: Duration, _ ttl: Int32?) throws -> [String?] {
            let content = MessageContent(notification: text, options: MessageOptions(ttlSeconds: ttl))
            let value = try JSONReader.read(Array(try body(content, expiresAt: now + left).utf8))
            return ["/android/ttl", "/webpush/headers/TTL", "/apns/headers/apns-expiration"].map {
                JSONPointer("/message" + $0).flatMap { value.value(at: $0)?.string }
            }
        }
        #expect(try times(.milliseconds(59_999), 60) == ["59s", "59", "1796122859"])
        #expect(try times(.seconds(2_419_200), nil) == ["2419200s", "2419200", "1798542000"])
        #expect(try times(.seconds(2_419_201), nil) == ["2419200s", "2419200", "1798542001"])
        #expect(try times(.seconds(30), 0) == ["0s", "0", "0"])
        #expect(try times(.seconds(-5), 60) == ["0s", "0", "1796122795"])
    }

    @Test("gets high priority if it shows a notification, unless the sender chooses")
    func priorities() throws {
        let data = [DataMember(name: "a", json: try json("1"))]
        func priority(_ content: MessageContent) throws -> [String?] {
            [
                try member(content, "/android/priority")?.string,
                try member(content, "/apns/headers/apns-priority")?.string,
            ]
        }
        #expect(try priority(MessageContent(notification: text)) == ["HIGH", nil])
        #expect(
            try priority(MessageContent(notification: text, options: MessageOptions(priority: .high))) == [
                "HIGH", "10",
            ])
        #expect(
            try priority(MessageContent(notification: text, options: MessageOptions(priority: .normal)))
                == ["NORMAL", "5"])
        // Apple may reject a push with high priority that shows nothing.
        #expect(try priority(MessageContent(data: data)) == ["NORMAL", "5"])
        #expect(try priority(MessageContent(data: data, options: MessageOptions(priority: .high))) == ["HIGH", "5"])
        #expect(
            try priority(MessageContent(data: data, options: MessageOptions(priority: .high, pushType: .background)))
                == ["HIGH", "5"])
    }

    @Test("takes the sender's collapse id of up to 64 bytes, and a collapse key only then")
    func collapseID() throws {
        let longest = String(repeating: "é", count: 32)
        let content = MessageContent(notification: text, options: MessageOptions(collapseID: longest))
        for path in [
            "/android/collapse_key", "/android/notification/tag", "/webpush/notification/tag",
            "/apns/headers/apns-collapse-id",
        ] { #expect(try member(content, path)?.string == longest) }
        #expect(try member(MessageContent(notification: text), "/android/collapse_key") == nil)
        for bad in ["", longest + "x", "a\nb", "a\u{7f}", " a", "a "] {
            #expect(
                fault(MessageContent(notification: text, options: MessageOptions(collapseID: bad)))
                    == .badCollapseID(bytes: bad.utf8.count, bytesMax: 64))
        }
    }

    @Test("serves alert and background pushes only")
    func pushTypes() {
        for type in PushType.allCases {
            let isServed = type == .alert || type == .background
            #expect(FCMMessage.serves(type) == isServed, "\(type.name)")
            let isRefused = fault(MessageContent(options: MessageOptions(pushType: type))) == .pushTypeNotOffered(type)
            #expect(isRefused == !isServed, "\(type.name)")
        }
    }

    @Test("may be sent again after a lost answer")
    func repeats() throws { #expect(try compile(MessageContent(notification: text)).mayRepeat) }

    @Test("needs something to show or data to deliver")
    func nothingToShow() throws {
        #expect(fault(MessageContent()) == .nothingToShow)
        #expect(fault(MessageContent(notification: NotificationText())) == .nothingToShow)
        let fr = Localization(locale: "fr", text: NotificationText(body: "Midi"))
        #expect(fault(MessageContent(notification: NotificationText(), localizations: [fr])) == .noCommonText)
        #expect(
            fault(MessageContent(overrides: [.fcm: try json(#"{"android":{"ttl":"3s","notification":{}}}"#)]))
                == .nothingToShow)
        #expect(
            fault(MessageContent(notification: text, overrides: [.fcm: try json(#"{"notification":null}"#)]))
                == .nothingToShow)
        for something in [
            #"{"notification":{"title":"a"}}"#, #"{"android":{"notification":{"title_loc_key":"a"}}}"#,
            #"{"webpush":{"notification":{"title":"a"}}}"#, #"{"apns":{"payload":{"aps":{"alert":"a"}}}}"#,
            #"{"data":{"a":"1"}}"#, #"{"android":{"data":{"a":"1"}}}"#, #"{"webpush":{"data":{"a":"1"}}}"#,
            #"{"apns":{"payload":{"own":1}}}"#,
        ] { #expect(fault(MessageContent(overrides: [.fcm: try json(something)])) == nil, "\(something)") }
        #expect(fault(MessageContent(badge: .value(0))) == nil)
        #expect(fault(MessageContent(sound: "default")) == nil)
        #expect(fault(MessageContent(data: [DataMember(name: "a", json: try json("1"))])) == nil)
    }
}

@Suite("The texts of a message in several languages")
struct VariantTests {
    private let content = MessageContent(
        notification: NotificationText(title: "Carillon", body: "Noon"),
        localizations: [
            Localization(locale: "fr", text: NotificationText(body: "Midi")),
            Localization(locale: "de", text: NotificationText(title: "Glocken", subtitle: "Zwölf", body: "Mittag")),
        ])

    @Test("start with the common one, followed by each localization merged over it")
    func texts() throws {
        func notification(_ variant: Int) throws -> JSONValue? {
            try JSONReader.read(Array(try body(content, variant: variant).utf8)).value(
                at: .root / "message" / "notification")
        }
        #expect(try compile(content).variantCount == 3)
        #expect(try notification(0) == ["title": "Carillon", "body": "Noon"])
        #expect(try notification(1) == ["title": "Carillon", "body": "Midi"])
        #expect(try notification(2) == ["title": "Glocken", "body": "Mittag"])
        #expect(try body(content, variant: 2).contains(#""subtitle":"Zwölf""#))
        #expect(try !body(content, variant: 1).contains("subtitle"))
    }

    @Test("fall back to the common one for a number without a localization", arguments: [-1, 3, .max, .min])
    func noSuchVariant(variant: Int) throws { #expect(try body(content, variant: variant) == body(content)) }

    @Test("all give way to the sender's fcm object")
    func overrides() throws {
        var content = content
        content.overrides[.fcm] = try json(#"{"notification":{"body":"DONG"}}"#)
        for variant in 0..<3 { #expect(try body(content, variant: variant).contains(#""body":"DONG""#)) }
    }

    @Test("must each fit the size limit")
    func sizes() throws {
        var content = content
        content.localizations.append(
            Localization(locale: "fi", text: NotificationText(body: String(repeating: "x", count: 4_000))))
        content.localizations.append(Localization(locale: "it", text: NotificationText(body: "x")))
        #expect(fault(content)?.code == "payload_too_large")
        #expect(fault(content)?.pointer?.description == "/notification/localizations/fi")
        content.notification?.title = String(repeating: "x", count: 4_200)
        #expect(fault(content)?.pointer == .root)
    }
}

@Suite("A background message for FCM")
struct BackgroundMessageTests {
    private func content(_ fcm: String? = nil, _ change: (inout MessageContent) -> Void = { _ in }) throws
        -> MessageContent
    {
        var content = MessageContent(
            data: [DataMember(name: "sync", json: try json("7"))],
            options: MessageOptions(ttlSeconds: 0, pushType: .background),
            overrides: [.fcm: try fcm.map { try json($0) }])
        change(&content)
        return content
    }

    @Test("carries data and is marked as background for Apple devices")
    func dataOnly() throws {
        #expect(
            try body(content())
                == #"{"message":{"data":{"sync":"7","carillon_id":"\#(id)"},"webpush":{"headers":{"TTL":"0"}},"#
                + #""android":{"priority":"NORMAL","ttl":"0s"},"token":"tok:en","#
                + #""apns":{"payload":{"aps":{"content-available":1}},"headers":{"apns-push-type":"background","#
                + #""apns-priority":"5","apns-collapse-id":"\#(digits)","apns-expiration":"0"}}}}"#)
        #expect(fault(MessageContent(options: MessageOptions(pushType: .background))) == nil)
    }

    @Test("refuses notification, badge and sound for every platform")
    func refuses() throws {
        #expect(
            fault(try content { $0.notification = NotificationText() })
                == .notForBackground(.root / "notification"))
        #expect(
            fault(try content { $0.localizations = [Localization(locale: "fr", text: NotificationText(body: "a"))] })
                == .notForBackground(.root / "notification"))
        #expect(fault(try content { $0.badge = .increment }) == .notForBackground(.root / "badge"))
        #expect(fault(try content { $0.sound = "default" }) == .notForBackground(.root / "sound"))
        for (overrides, pointer) in [
            (#"{"notification":{}}"#, "/fcm/notification"),
            (#"{"android":{"notification":{"icon":"a"}}}"#, "/fcm/android/notification"),
            (#"{"webpush":{"notification":{"icon":"a"}}}"#, "/fcm/webpush/notification"),
            (#"{"apns":{"payload":{"aps":{"alert":"a"}}}}"#, "/fcm/apns/payload/aps/alert"),
            (#"{"apns":{"payload":{"aps":{"sound":"a"}}}}"#, "/fcm/apns/payload/aps/sound"),
            (#"{"apns":{"payload":{"aps":{"badge":1}}}}"#, "/fcm/apns/payload/aps/badge"),
        ] {
            #expect(fault(try content(overrides))?.code == "not_for_background", "\(overrides)")
            #expect(fault(try content(overrides))?.pointer?.description == pointer)
        }
        #expect(fault(try content(#"{"notification":null,"android":{"direct_boot_ok":true}}"#)) == nil)
    }
}
