import CompiledMessages
import Content
import JSON
import Model
import ProviderInterface
import Testing

@Suite("The placeholder for a member's own value")
struct OwnValuePlaceholderTests {
    private static func message(_ body: String, data: [DataMember] = []) -> CompiledMessage {
        let content = MessageContent(notification: NotificationText(body: body), data: data, isTemplate: true)
        return CompiledMessage(content, message: TemplateWorld.id)
    }

    @Test("gets each member's value, and the default without one")
    func filled() async throws {
        let message = Self.message("{{user}}: {{carillon_own | default: 'something new'}}")
        #expect(message.placeholders.fields == [.text(.profile(.user)), .own])
        let world = TemplateWorld(message, [["ann", "say \"ten\""], ["bob", ""]])
        let shown = try await world.bodies(to: TemplateWorld.topic).map { body in
            let aps = try JSONReader.read(try #require(body)).object?["aps"]?.object
            return aps?["alert"]?.object?["body"]?.string
        }
        #expect(shown == ["ann: say \"ten\"", "bob: something new"])
    }

    @Test("makes a sender's message invalid, as any unknown field does")
    func refused() {
        let place = JSONPointer.root / "notification" / "body"
        func fault(at position: Int) -> ContentFault {
            .template(place, TemplateFault(position: position, reason: .unknownField("carillon_own")))
        }
        #expect(throws: fault(at: 3)) { try Self.message("{{carillon_own}}").check() }
        #expect(throws: fault(at: 15)) {
            try Self.message("Ä {{user}} {{ carillon_own | default: 'x' }} {{carillon_own}}").check()
        }
        #expect(throws: fault(at: 3)) { try Self.message("{{carillon_own}}").check(asked: [.apns]) }
        #expect(!DeviceField.names.contains { $0.contains("own") })
        #expect(DeviceField.ownPlaceholder == "{{carillon_own}}")
    }

    @Test("makes a sender's message invalid in its data too")
    func inData() {
        let data = [DataMember(name: "path", json: JSONText(.string("{{carillon_own}}")))]
        let fault = ContentFault.template(
            .root / "data" / "path", TemplateFault(position: 3, reason: .unknownField("carillon_own")))
        #expect(throws: fault) { try Self.message("Noon", data: data).check() }
    }
}
