import Content
import Model
import Testing

@Suite("An address in a notification")
struct NotificationAddressTests {
    @Test(
        "passes if a device can use it",
        arguments: [
            (NotificationPart.image, "https://cdn.example.com/noon.png?w=600"), (.image, "HTTPS://cdn.example.com/"),
            (.image, "https://cdn.example.com/{{ attributes.id }}.png"),
            (.image, "https://cdn.example.com?id={{attributes.id}}"), (.link, "myapp://noon#{{user}}"),
            (.link, "tel:{{attributes.phone}}"), (.link, "myapp://noon/{{'{{'}}"),
            (.link, "https://example.com/noon"), (.link, "myapp://noon"), (.link, "tel:+4930123"),
            (.link, "https://example.com/été"), (.title, "no address at all"),
        ])
    func taken(part: NotificationPart, text: String) {
        #expect(NotificationAddress.fault(of: text, as: part) == nil)
    }

    @Test(
        "fails if no device could use it",
        arguments: [
            (NotificationPart.image, ""), (.image, "http://cdn.example.com/noon.png"), (.image, "noon.png"),
            (.image, "https://"), (.image, "https:///noon.png"), (.image, "https://cdn.example.com/a b.png"),
            (.image, "data:image/png;base64,AAAA"), (.link, ""), (.link, "noon"), (.link, "/noon"),
            (.image, "{{attributes.avatar}}"), (.image, "https://{{attributes.host}}/a.png"),
            (.image, "https://cdn.{{user}}"), (.link, "{{user}}://noon"), (.link, "myapp://{{user}}"),
            (.link, "https://{{user}}@example.com/"), (.link, "{{'my app:'}}{{user}}"),
            (.link, "https://example.com/\n"), (.link, "myapp:"), (.link, " myapp://noon"),
            (.link, "https://example.com/" + String(repeating: "a", count: NotificationAddress.bytesMax)),
        ])
    func refused(part: NotificationPart, text: String) {
        #expect(NotificationAddress.fault(of: text, as: part) != nil)
    }

    @Test("leaves a template that cannot be parsed to a refusal that names the place")
    func malformed() { #expect(NotificationAddress.fault(of: "https://a.example/{{ user", as: .image) == nil) }
}
