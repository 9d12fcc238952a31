import APNs
import Basis
import Content
import JSON
import Model
import Testing

private let message = MessageID(UniversalID(high: 0x0192_f3a4_b5c6_7d8e, low: 0x8f01_2345_6789_0abc))

private func json(_ text: String) throws -> JSONText { JSONText(try JSONReader.read(Array(text.utf8))) }

private func compile(_ content: MessageContent) throws(ProviderFault) -> APNsNotification {
    try APNsNotification.compile(content, message: message)
}

private func payload(_ content: MessageContent, badge: Int32? = nil) throws -> String {
    var bytes: [UInt8] = []
    let payload = try compile(content).payload
    bytes += payload.head
    payload.appendOwnBytes(badge: badge, to: &bytes)
    bytes += payload.tail
    return String(decoding: bytes, as: UTF8.self)
}

private func fault(_ content: MessageContent) -> ProviderFault? {
    do throws(ProviderFault) {
        _ = try compile(content)
        return nil
    } catch { return error }
}

@Suite("An alert for APNs")
struct AlertPayloadTests {
    @Test("puts the notification into aps and the sender's data beside it, in order")
    func commonPart() throws {
        let content = MessageContent(
            notification: NotificationText(title: "Carillon", subtitle: "Noon", body: "Twelve o'clock"),
            sound: "default",
            data: [
                DataMember(name: "z", json: try json("1.50")), DataMember(name: "a", json: try json(#"{"b":[null]}"#)),
            ])
        #expect(
            try payload(content)
                == #"{"aps":{"alert":{"title":"Carillon","subtitle":"Noon","body":"Twelve o'clock"},"sound":"default"},"#
                + #""z":1.50,"a":{"b":[null]}}"#)
    }

    private static let rich = MessageContent(
        notification: NotificationText(body: "Noon", image: "https://a.example/en.png", link: "app://noon"),
        localizations: [
            Localization(locale: "fr", text: NotificationText(body: "Midi", image: "https://a.example/fr.png")),
            Localization(locale: "de", text: NotificationText(body: "Mittag")),
        ],
        presentation: NotificationPresentation(
            category: "NEWS", channel: "news", thread: "t1", interruption: .timeSensitive))

    @Test("puts category, thread and interruption into aps, and has a picture fetched")
    func presented() throws {
        #expect(
            try payload(Self.rich)
                == #"{"aps":{"alert":{"body":"Noon"},"category":"NEWS","thread-id":"t1","#
                + #""interruption-level":"time-sensitive","mutable-content":1},"#
                + #""carillon_image":"https://a.example/en.png","carillon_link":"app://noon"}"#)
    }

    @Test("plays a critical alert's sound on a muted phone")
    func criticalSound() throws {
        var content = MessageContent(
            notification: NotificationText(body: "Smoke"),
            presentation: NotificationPresentation(interruption: .critical), sound: "default")
        let alert = #"{"aps":{"alert":{"body":"Smoke"},"sound":{"critical":1,"name":"default","volume":"#
        let end = #"},"interruption-level":"critical"}}"#
        #expect(try payload(content) == alert + "1" + end)
        content.overrides[.apns] = try json(#"{"aps":{"sound":{"volume":0.5}}}"#)
        #expect(try payload(content) == alert + "0.5" + end)
        content.presentation.interruption = .timeSensitive
        content.overrides = ProviderOverrides()
        #expect(try payload(content).contains(#""sound":"default""#))
    }

    @Test("puts each language's own picture and link beside aps")
    func addressesOfLanguages() throws {
        let tails = try compile(Self.rich).payloads.map { String(decoding: $0.tail, as: UTF8.self) }
        #expect(tails[1].contains("fr.png") && tails[1].contains("app://noon"))
        #expect(tails[2].contains("en.png") && tails[2].contains("app://noon"))
    }

    @Test("takes the sender's own aps in place of the presentation, member by member")
    func presentationOverridden() throws {
        var content = Self.rich
        content.overrides[.apns] = try json(
            #"{"aps":{"interruption-level":"passive","category":null},"carillon_link":null}"#)
        let written = try payload(content)
        #expect(written.contains(#""interruption-level":"passive""#) && !written.contains("category"))
        #expect(!written.contains("carillon_link"))
    }

    @Test("leaves a placeholder for the badge, which takes its comma along if there is no badge")
    func badgeHole() throws {
        let notification = NotificationText(body: "Hi")
        for badge in [BadgeChange.increment, .value(7)] {
            let content = MessageContent(notification: notification, badge: badge)
            #expect(try payload(content, badge: 3) == #"{"aps":{"alert":{"body":"Hi"},"badge":3}}"#)
            #expect(try payload(content, badge: nil) == #"{"aps":{"alert":{"body":"Hi"}}}"#)
            #expect(try payload(MessageContent(badge: badge), badge: 0) == #"{"aps":{"badge":0}}"#)
            #expect(try payload(MessageContent(badge: badge), badge: nil) == #"{"aps":{}}"#)
        }
        #expect(
            try payload(MessageContent(notification: notification), badge: 3) == #"{"aps":{"alert":{"body":"Hi"}}}"#)
    }

    @Test(
        "writes the digits of every badge correctly",
        arguments: [0, 1, 9, 10, 99, 100, 1_000_000_007, .max] as [Int32])
    func digits(badge: Int32) throws {
        let content = MessageContent(badge: .increment)
        #expect(try payload(content, badge: badge) == #"{"aps":{"badge":\#(badge)}}"#)
        #expect(try compile(content).payload.bytesMax == #"{"aps":{"badge":2147483647}}"#.utf8.count)
    }

    @Test("merges the sender's apns object over the common part, member by member")
    func overrides() throws {
        let content = MessageContent(
            notification: NotificationText(title: "Carillon", body: "Noon"), badge: .increment, sound: "default",
            data: [DataMember(name: "article", json: try json("42"))],
            overrides: [
                .apns: try json(
                    #"{"aps":{"interruption-level":"time-sensitive","sound":null,"alert":{"body":"Midi"},"x-new":[1]},"#
                        + #""article":"43","own":true}"#)
            ])
        #expect(
            try payload(content, badge: 5)
                == #"{"aps":{"alert":{"title":"Carillon","body":"Midi"},"interruption-level":"time-sensitive","#
                + #""x-new":[1],"badge":5},"article":"43","own":true}"#)
    }

    @Test("takes a literal badge from the apns object as an ordinary member")
    func literalBadge() throws {
        let content = MessageContent(overrides: [.apns: try json(#"{"aps":{"badge":4}}"#)])
        #expect(try payload(content, badge: 9) == #"{"aps":{"badge":4}}"#)
        #expect(try !compile(content).payload.hasBadgePlaceholder)
        #expect(fault(MessageContent(badge: .increment, overrides: content.overrides)) == .badgeTwice)
    }

    @Test("needs something to show")
    func nothingToShow() throws {
        #expect(fault(MessageContent()) == .nothingToShow)
        #expect(fault(MessageContent(notification: NotificationText())) == .nothingToShow)
        #expect(fault(MessageContent(data: [DataMember(name: "a", json: try json("1"))])) == .nothingToShow)
        #expect(fault(MessageContent(badge: .value(0))) == nil)
        #expect(fault(MessageContent(sound: "default")) == nil)
        #expect(fault(MessageContent(overrides: [.apns: try json(#"{"aps":{"alert":"Hi"}}"#)])) == nil)
    }

    @Test("may be as large as APNs accepts, counted with the widest badge")
    func size() throws {
        func content(bytes: Int) -> MessageContent {
            let frame = #"{"aps":{"alert":{"body":""},"badge":2147483647}}"#.utf8.count
            return MessageContent(
                notification: NotificationText(body: String(repeating: "x", count: bytes - frame)), badge: .increment)
        }
        #expect(fault(content(bytes: 4_096)) == nil)
        #expect(fault(content(bytes: 4_097)) == .payloadTooLarge(bytes: 4_097, bytesMax: 4_096))
        let huge = JSONText(bytes: Array("\"\(String(repeating: "x", count: 30_000))\"".utf8))
        #expect(fault(MessageContent(data: [DataMember(name: "a", json: huge)]))?.code == "payload_too_large")
    }

    @Test("refuses aps as a name in data")
    func reservedKey() throws {
        let content = MessageContent(badge: .increment, data: [DataMember(name: "aps", json: try json("{}"))])
        #expect(fault(content) == .reservedKey(.root / "data" / "aps"))
    }
}

@Suite("The apns object")
struct APNsObjectTests {
    @Test("requires an object as its aps", arguments: ["null", "[]", "1", "\"a\""])
    func aps(value: String) throws {
        let content = MessageContent(sound: "default", overrides: [.apns: try json(#"{"aps":\#(value)}"#)])
        #expect(fault(content)?.code == "invalid_value")
        #expect(fault(content)?.pointer?.description == "/apns/aps")
    }

    @Test(
        "fails validation in the form of FCM's apns object: members would reach the app as data",
        arguments: [
            (#"{"headers":{"apns-priority":"5"}}"#, "/apns/headers"),
            (#"{"headers":{"APNS-Topic":"a"}}"#, "/apns/headers"),
            (#"{"payload":{"aps":{"alert":"Noon"}}}"#, "/apns/payload"),
            (#"{"fcm_options":{"image":"https://example.com/i.png"}}"#, "/apns/fcm_options"),
            (#"{"headers":{"accept":"a"},"payload":{"id":1},"fcm_options":1}"#, nil),
        ])
    func formOfFCM(apns: String, pointer: String?) throws {
        let content = MessageContent(sound: "default", overrides: [.apns: try json(apns)])
        #expect(fault(content)?.pointer?.description == pointer)
        #expect(fault(content)?.code == pointer.map { _ in "invalid_value" })
    }
}

@Suite("A background push for APNs")
struct BackgroundPayloadTests {
    private func content(apns: String? = nil, _ change: (inout MessageContent) -> Void = { _ in }) throws
        -> MessageContent
    {
        var content = MessageContent(
            data: [DataMember(name: "sync", json: try json("7"))], options: MessageOptions(pushType: .background),
            overrides: [.apns: try apns.map(json)])
        change(&content)
        return content
    }

    @Test("consists of content-available and the sender's data")
    func payloadIsFlagAndData() throws {
        #expect(try payload(content()) == #"{"aps":{"content-available":1},"sync":7}"#)
        #expect(try payload(content(apns: #"{"own":1}"#)) == #"{"aps":{"content-available":1},"sync":7,"own":1}"#)
        #expect(try compile(content()).priority == 5)
    }

    @Test("refuses alert, sound, badge and high priority")
    func refuses() throws {
        let text = NotificationText(body: "a")
        #expect(fault(try content { $0.notification = text })?.pointer?.description == "/notification")
        #expect(fault(try content { $0.badge = .increment })?.pointer?.description == "/badge")
        #expect(fault(try content { $0.sound = "default" })?.pointer?.description == "/sound")
        #expect(
            fault(try content(apns: #"{"aps":{"alert":"a"}}"#))
                == .notForType(.background, .root / "apns" / "aps" / "alert"))
        #expect(fault(try content(apns: #"{"aps":{"content-available":0}}"#))?.code == "invalid_value")
        #expect(fault(try content(apns: #"{"aps":{"content-available":null}}"#))?.code == "invalid_value")
        #expect(fault(try content { $0.options.priority = .high }) == .priorityNotAllowed(.background))
        #expect(fault(try content { $0.options.priority = .normal }) == nil)
    }
}

@Suite("The headers of a push")
struct HeaderTests {
    private let expiresAt = WallInstant(microseconds: 1_796_126_403_999_999)

    private func headers(_ options: MessageOptions, topic: String = "com.example.app", pushes: Int = 1) throws
        -> [String]
    {
        let sound = options.pushType == .alert ? "default" : nil
        return try compile(MessageContent(sound: sound, options: options))
            .headers(topic: topic, expiresAt: expiresAt, pushes: pushes).map {
                String(decoding: $0.name, as: UTF8.self) + ": " + String(decoding: $0.value, as: UTF8.self)
            }
    }

    @Test("carry type, topic, priority, expiration and a collapse id made from the message")
    func alert() throws {
        #expect(
            try headers(MessageOptions()) == [
                "apns-topic: com.example.app", "apns-push-type: alert", "apns-priority: 10",
                "apns-expiration: 1796126403", "apns-collapse-id: 0192f3a4b5c67d8e8f01234567890abc",
            ])
        #expect(try headers(MessageOptions(priority: .normal)).contains("apns-priority: 5"))
        #expect(
            try headers(MessageOptions(pushType: .background))[1...2] == [
                "apns-push-type: background", "apns-priority: 5",
            ])
    }

    @Test("carry expiration 0 for a zero time to live, and no topic if none is known")
    func nowOrNever() throws {
        #expect(try headers(MessageOptions(ttlSeconds: 0)).contains("apns-expiration: 0"))
        #expect(try headers(MessageOptions(), topic: "").allSatisfy { !$0.hasPrefix("apns-topic") })
    }

    @Test("carry the sender's collapse id of up to 64 bytes")
    func collapseID() throws {
        #expect(try headers(MessageOptions(collapseID: "noon")).contains("apns-collapse-id: noon"))
        let longest = String(repeating: "é", count: 32)
        #expect(try headers(MessageOptions(collapseID: longest)).contains("apns-collapse-id: " + longest))
        for bad in ["", longest + "x", "a\nb", "a\u{7f}", " a", "a ", "\u{0}"] {
            let content = MessageContent(sound: "x", options: MessageOptions(collapseID: bad))
            #expect(fault(content) == .badCollapseID(bytes: bad.utf8.count, bytesMax: 64))
        }
    }

    @Test("enter the peer's header compression table if they repeat")
    func indexing() throws {
        let notification = try compile(MessageContent(sound: "x"))
        let single = notification.headers(topic: "com.example.app", expiresAt: expiresAt, pushes: 1)
        #expect(single.map(\.isIndexed) == [true, true, true, false, false])
        let batch = notification.headers(topic: "com.example.app", expiresAt: expiresAt, pushes: 5_000)
        #expect(batch.filter { !$0.isIndexed }.isEmpty)
    }

    @Test("come with a path in hexadecimal and an apns-id of 36 bytes")
    func pathAndID() {
        var buffer: [UInt8] = []
        APNsRequest.appendPath(token: ([0x00, 0xab, 0xff] as [UInt8]).span, to: &buffer)
        #expect(String(decoding: buffer, as: UTF8.self) == "/3/device/00abff")
        buffer.removeAll()
        APNsRequest.appendID(message: message, registration: RegistrationID(42), to: &buffer)
        #expect(String(decoding: buffer, as: UTF8.self) == "a2ec8746-0aee-83fb-add4-74caae4f2afb")
    }
}
