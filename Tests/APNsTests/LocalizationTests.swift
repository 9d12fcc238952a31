import APNs
import Basis
import Content
import JSON
import Model
import Testing

private let message = MessageID(UniversalID(high: 0x0192_f3a4_b5c6_7d8e, low: 0x8f01_2345_6789_0abc))

private func json(_ text: String) throws -> JSONText { JSONText(try JSONReader.read(Array(text.utf8))) }

private func texts(_ content: MessageContent, badge: Int32? = nil) throws -> [String] {
    try APNsNotification.compile(content, message: message).payloads.map { payload in
        var bytes = payload.head
        payload.appendOwnBytes(badge: badge, to: &bytes)
        return String(decoding: bytes + payload.tail, as: UTF8.self)
    }
}

private func fault(_ content: MessageContent) -> ProviderFault? {
    do throws(ProviderFault) {
        _ = try APNsNotification.compile(content, message: message)
        return nil
    } catch { return error }
}

@Suite("A localized message for APNs")
struct LocalizationTests {
    @Test("compiles one payload per text, and a text takes what it lacks from the common one")
    func variants() throws {
        let content = MessageContent(
            notification: NotificationText(title: "Carillon", body: "Noon"),
            localizations: [
                Localization(locale: "fr", text: NotificationText(body: "Midi")),
                Localization(
                    locale: "de", text: NotificationText(title: "Glockenspiel", subtitle: "Turm", body: "Mittag")),
                Localization(locale: "en-GB", text: NotificationText()),
            ], badge: .increment, sound: "default", data: [DataMember(name: "article", json: try json("42"))],
            overrides: [.apns: try json(#"{"aps":{"category":"c"},"own":1}"#)])
        let end = #","sound":"default","category":"c","badge":3},"article":42,"own":1}"#
        #expect(
            try texts(content, badge: 3) == [
                #"{"aps":{"alert":{"title":"Carillon","body":"Noon"}"# + end,
                #"{"aps":{"alert":{"title":"Carillon","body":"Midi"}"# + end,
                #"{"aps":{"alert":{"title":"Glockenspiel","subtitle":"Turm","body":"Mittag"}"# + end,
                #"{"aps":{"alert":{"title":"Carillon","body":"Noon"}"# + end,
            ])
    }

    @Test("needs no common text if it shows something else")
    func withoutCommonText() throws {
        let fr = Localization(locale: "fr", text: NotificationText(body: "Midi"))
        #expect(
            try texts(MessageContent(localizations: [fr], sound: "default")) == [
                #"{"aps":{"sound":"default"}}"#, #"{"aps":{"alert":{"body":"Midi"},"sound":"default"}}"#,
            ])
        #expect(fault(MessageContent(localizations: [fr])) == .noCommonText)
    }

    @Test("uses the sender's own alert in every language")
    func alertOfItsOwn() throws {
        let content = MessageContent(
            notification: NotificationText(body: "Noon"),
            localizations: [Localization(locale: "fr", text: NotificationText(title: "Carillon", body: "Midi"))],
            overrides: [.apns: try json(#"{"aps":{"alert":{"body":null,"loc-key":"NOON"}}}"#)])
        #expect(
            try texts(content) == [
                #"{"aps":{"alert":{"loc-key":"NOON"}}}"#, #"{"aps":{"alert":{"title":"Carillon","loc-key":"NOON"}}}"#,
            ])
    }

    @Test("fails to compile, with the locale as the place, if one language's text is too long")
    func size() {
        func content(_ lengths: [Int]) -> MessageContent {
            let texts = lengths.map { NotificationText(body: String(repeating: "x", count: $0)) }
            let locales = ["fr", "de", "en"]
            return MessageContent(
                notification: texts[0],
                localizations: texts.dropFirst().enumerated().map { Localization(locale: locales[$0], text: $1) },
                badge: .increment)
        }
        let frame = #"{"aps":{"alert":{"body":""},"badge":2147483647}}"#.utf8.count
        let fits = 4_096 - frame
        #expect(fault(content([1, fits, fits])) == nil)
        let one = fault(content([1, fits, fits + 1]))
        #expect(one == .payloadTooLarge(bytes: 4_097, bytesMax: 4_096, locale: "de"))
        #expect(one?.pointer?.description == "/notification/localizations/de")
        #expect(one?.code == "payload_too_large")
        #expect(
            fault(content([1, fits + 5, fits + 9, fits + 7]))
                == .payloadTooLarge(bytes: 4_105, bytesMax: 4_096, locale: "de"))
        let all = fault(content([fits + 1, fits + 2]))
        #expect(all == .payloadTooLarge(bytes: 4_097, bytesMax: 4_096))
        #expect(all?.pointer == .root)
    }
}
