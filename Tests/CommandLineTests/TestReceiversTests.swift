import CommandLine
import JSON
import Testing

@Suite("The receivers of a test")
struct TestReceiversTests {
    @Test("may be installations, users and tags, with one message for each form and user")
    func forms() throws {
        let receivers = try TestReceivers(["phone-1,phone-2", "user:frida,user:ben", "tag:staff", "installation:tag:9"])
        let audiences: [JSONValue] = [
            ["installations": ["phone-1", "phone-2", "tag:9"]], ["users": ["frida"]],
            ["users": ["ben"]], ["tags": ["any": ["staff"]]],
        ]
        #expect(receivers.parts.map(\.audience) == audiences)
        #expect(receivers.parts.map(\.devicesMin) == [3, 1, 1, 1])
        #expect(
            receivers.sentence
                == "the installations phone-1, phone-2 and tag:9, the user frida, the user ben and the tag staff")
    }

    @Test("must have a name", arguments: ["", ",", "user:", "tag:,phone-1"])
    func nameless(option: String) {
        let fault = #expect(throws: CommandFault.self) { try TestReceivers([option]) }
        #expect(fault?.kind == .usage)
    }
}
