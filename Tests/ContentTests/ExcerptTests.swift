import Content
import Model
import Testing

@Suite("The beginning of a stored content")
struct ExcerptTests {
    private func stored(_ text: NotificationText?) -> [UInt8] {
        StoredContent.encode(MessageContent(notification: text, badge: .increment))
    }

    @Test(
        "has the common text, if there is one",
        arguments: [
            NotificationText(title: "Carillon", body: "Twelve o'clock"), NotificationText(body: "\"Noon\"\n\\ 🔔"),
            NotificationText(title: "A", subtitle: "B"), NotificationText(subtitle: "B", body: ""),
        ])
    func whole(text: NotificationText) {
        let expected = TextInLanguage(language: nil, title: text.title, body: text.body)
        #expect(StoredContent.excerpt(stored(text)) == expected)
    }

    @Test("has no text for a content without one", arguments: [nil, NotificationText(), NotificationText(title: "")])
    func none(text: NotificationText?) {
        #expect(StoredContent.excerpt(stored(text)) == nil)
    }

    @Test("has a longer text shortened to 200 characters")
    func long() {
        let text = String(repeating: "é", count: 300)
        let body = StoredContent.excerpt(stored(NotificationText(body: text)))?.body
        #expect(body == String(repeating: "é", count: 199) + "…")
    }

    @Test("has what there is of a text, wherever it ends")
    func cut() {
        let text = NotificationText(title: "Tölz 🔔\u{1}\u{2}", body: "\"Noon\"")
        let bytes = stored(text)
        for end in 0...bytes.count {
            guard let found = StoredContent.excerpt(Array(bytes[..<end])) else { continue }
            #expect(text.title?.hasPrefix(found.title ?? "") == true, "cut at \(end)")
            #expect(text.body?.hasPrefix(found.body ?? "") == true, "cut at \(end)")
        }
    }
}
