import Content
import Model
import Testing

@Suite("An address in a notification")
struct NotificationAddressTests {
    @Test(
        "passes if a device can use it",
        arguments: [
            (NotificationPart.image, "https://cdn.example.com/noon.png?w=600"), (.image, "HTTPS://cdn.example.com/"),
            (.image, "{{attributes.avatar}}"), (.image, "https://cdn.example.com/{{ attributes.id }}.png"),
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
            (.link, "https://example.com/\n"), (.link, "myapp:"), (.link, " myapp://noon"),
            (.link, "https://example.com/" + String(repeating: "a", count: NotificationAddress.bytesMax)),
        ])
    func refused(part: NotificationPart, text: String) {
        #expect(NotificationAddress.fault(of: text, as: part) != nil)
    }
}
