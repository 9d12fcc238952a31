import APNs
import CommandLine
import FCM
import JSON
import ProviderInterface
import Testing

extension NotificationDrawing {
    fileprivate init(apns payload: JSONValue, app: String, badge: String? = nil) {
        self.init(APNsProvider().picture(of: payload, badge: badge), app: app)
    }

    fileprivate init(fcm request: JSONValue, app: String, badge: String? = nil) {
        self.init(FCMProvider().picture(of: request, badge: badge), app: app)
    }
}

@Suite("A notification drawn in characters")
struct NotificationDrawingTests {
    private func json(_ text: String) throws -> JSONValue { try JSONReader.read(Array(text.utf8)) }

    @Test("keeps every line as wide as the frame, whatever the text contains")
    func frame() throws {
        let long = String(repeating: "unbreakable", count: 9)
        let wide = String(repeating: "日本語の本文です。", count: 9)
        let bodies = [
            "x", "Twelve o'clock, and all is well in the garden and beyond it", long, "one\ntwo", "", wide,
            "Fête 🎉 au jardin 👩‍👩‍👧‍👦, e\u{301}te\u{301} ❤️ 🇫🇷", "정원의 정오", "\u{9}\u{7}",
        ]
        for body in bodies {
            var picture = NotificationDrawing(apns: .null, app: "garden")
            picture.title = "Noon"
            picture.body = body
            let lines = picture.lines
            #expect(Set(lines.map { TerminalText.columns($0) }) == [46], "\(body): \(lines)")
            let shown = lines.joined().filter { $0.isLetter }
            #expect(!body.contains(where: \.isLetter) || shown.contains(body.filter(\.isLetter)))
        }
    }

    @Test("shows the visible text of an APNs payload, and lists badge, sound and data below it")
    func apns() throws {
        let payload = try json(
            #"{"aps":{"alert":{"title":"Noon","subtitle":"Bell","body":"Twelve"},"badge":3,"sound":"default"},"id":"4"}"#
        )
        let picture = NotificationDrawing(apns: payload, app: "garden")
        #expect(picture.title == "Noon" && picture.subtitle == "Bell" && picture.body == "Twelve")
        let counted = NotificationDrawing(apns: payload, app: "garden", badge: "+1")
        #expect(counted.lines.last == "  badge +1 · sound default · data id")
        #expect(picture.lines.last == "  badge 3 · sound default · data id")
        #expect(NotificationDrawing(apns: try json(#"{"aps":{"alert":"Ring"}}"#), app: "a").body == "Ring")
        let silent = NotificationDrawing(apns: try json(#"{"aps":{"content-available":1}}"#), app: "a")
        #expect(silent.lines.contains { $0.contains("nothing is shown") } && silent.remarks == ["wakes the app"])
    }

    @Test("shows what Android displays of an FCM request: the Android part before the common one")
    func fcm() throws {
        let request = try json(
            #"{"message":{"notification":{"title":"Noon","body":"Twelve"},"android":{"notification":{"title":"Midday"}}}}"#
        )
        let picture = NotificationDrawing(fcm: request, app: "garden")
        #expect(picture.title == "Midday" && picture.body == "Twelve")
    }

    @Test("names the picture, the link and how it is presented")
    func rich() throws {
        let payload = try json(
            #"{"aps":{"alert":{"body":"Noon"},"category":"NEWS","thread-id":"t1","interruption-level":"passive"},"#
                + #""carillon_image":"https://a.example/n.png","carillon_link":"app://noon"}"#)
        let iPhone = NotificationDrawing(apns: payload, app: "garden")
        #expect(iPhone.lines.contains { $0.contains("[picture: https://a.example/n.png]") })
        #expect(iPhone.remarks.prefix(4) == ["opens app://noon", "category NEWS", "thread t1", "interruption passive"])
        let request = try json(
            #"{"message":{"notification":{"body":"Noon","image":"https://a.example/n.png"},"#
                + #""data":{"carillon_link":"app://noon"},"android":{"notification":{"channel_id":"news"}}}}"#)
        let android = NotificationDrawing(fcm: request, app: "garden")
        #expect(android.lines.contains { $0.contains("[picture: https://a.example/n.png]") })
        #expect(android.remarks.prefix(2) == ["channel news", "opens app://noon"])
    }
}
