import CompiledMessages
import Content
import JSON
import Model
import ProviderInterface
import Testing

@Suite("A placeholder in an address or an id")
struct AddressPlaceholderTests {
    private func payloads(_ content: MessageContent, _ values: [String]) async throws -> [JSONObject] {
        var content = content
        content.isTemplate = true
        let message = CompiledMessage(content, message: TemplateWorld.id)
        try message.check()
        return try await TemplateWorld(message, values.map { [$0] }).bodies(to: TemplateWorld.topic).map { body in
            let body = try #require(body)
            return try #require(try JSONReader.read(body).object)
        }
    }

    @Test("gets a value percent-encoded, and the default in the place of a blank one")
    func encoded() async throws {
        let content = MessageContent(
            notification: NotificationText(
                body: "{{user}}.", image: "https://a.example/{{user}}.png",
                link: "app://noon?by={{user | default: 'a b'}}"))
        let payloads = try await payloads(content, ["a b&c", "é/\"", "..-_~", "", " "])
        #expect(
            payloads.map { $0["carillon_image"]?.string }
                == [
                    "a%20b%26c", "%C3%A9%2F%22", "..-_~", "", "",
                ].map { "https://a.example/\($0).png" })
        #expect(payloads[0]["carillon_link"] == "app://noon?by=a%20b%26c")
        #expect(payloads[3...].allSatisfy { $0["carillon_link"] == "app://noon?by=a%20b" })
        let alert = payloads[0]["aps"]?.object?["alert"]?.object
        #expect(alert?["body"] == "a b&c.", "a text gets the value as it is")
    }

    @Test("fills a preview as it fills a push")
    func preview() throws {
        let content = MessageContent(
            notification: NotificationText(body: "Noon", image: "https://a.example/{{user}}.png"), isTemplate: true)
        let message = CompiledMessage(content, message: TemplateWorld.id)
        for (value, shown) in [("a b", "a%20b"), (" ", "")] {
            let device = PreviewedDevice(
                variant: 0, badge: nil, now: TemplateWorld.now, placeholders: message.placeholders
            ) { _ in Array(value.utf8) }
            let body = try #require(message.push(for: .apns)).preview(device).body
            let image = try JSONReader.read(body).object?["carillon_image"]
            #expect(image?.string == "https://a.example/\(shown).png")
        }
    }

    @Test("makes no id empty: a blank value gives way to the default")
    func ids() async throws {
        let content = MessageContent(
            notification: NotificationText(body: "Noon"),
            presentation: NotificationPresentation(category: "{{user | default: 'news'}}", thread: "chat-{{user}}"))
        let payloads = try await payloads(content, ["bells", "", "\u{a0}"])
        #expect(payloads.map { $0["aps"]?.object?["category"]?.string } == ["bells", "news", "news"])
        #expect(payloads.map { $0["aps"]?.object?["thread-id"]?.string } == ["chat-bells", "chat-", "chat-"])
    }

    @Test("gets a refusal if a device without the value would get an empty id")
    func needsDefault() {
        for id in ["{{user}}", " {{user | default: ' '}}"] {
            let presentations: KeyValuePairs = [
                "category": NotificationPresentation(category: id), "channel": NotificationPresentation(channel: id),
                "thread": NotificationPresentation(thread: id),
            ]
            for (place, presentation) in presentations {
                let content = MessageContent(
                    notification: NotificationText(body: "Noon"), presentation: presentation, isTemplate: true)
                let fault = ContentFault.template(
                    .root / "notification" / place, TemplateFault(position: 1, reason: .needsDefault))
                #expect(throws: fault) { try CompiledMessage(content, message: TemplateWorld.id).check() }
            }
        }
    }
}
