import CommandLine
import JSON
import Testing

@Suite("A test in a language")
struct TestMessageTests {
    private static let message: JSONValue = [
        "name": "Noon",
        "notification": [
            "title": "Noon", "body": "Twelve", "image": "https://cdn.example/en.png", "link": "garden://en",
            "thread": "garden",
            "localizations": [
                "fr": ["title": "Midi", "image": "https://cdn.example/fr.png"], "fr-CA": ["body": "Midi pile"],
                "ja": ["body": "正午", "link": "garden://ja"],
            ],
        ],
        "options": ["send_at": "2099-12-01T12:00:00Z"],
    ]

    private func tests(_ locales: String...) throws -> [TestMessage] {
        try TestMessage.all(of: try #require(Self.message.object), in: locales, to: ["installations": ["phone-1"]])
    }

    @Test("sends that text with its picture and link as the common one, at once")
    func resolved() throws {
        let tests = try tests("ja", "fr_CA", "de")
        let limits: JSONValue = ["ignore_quiet_hours": true, "ignore_daily_cap": true]
        #expect(
            JSONValue.object(tests[0].content) == [
                "name": "Noon (test, ja)",
                "notification": [
                    "title": "Noon", "body": "正午", "image": "https://cdn.example/en.png", "link": "garden://ja",
                    "thread": "garden",
                ], "options": limits,
            ])
        #expect(
            tests[1].content["notification"] == [
                "title": "Midi", "body": "Midi pile", "image": "https://cdn.example/fr.png", "link": "garden://en",
                "thread": "garden",
            ])
        #expect(tests[2].content["notification"]?.object?["body"] == "Twelve")
    }

    @Test("says which text the language gets")
    func remarks() throws {
        #expect(
            try tests("ja", "fr_CA", "fr-BE", "de").map(\.remark) == [
                "In ja:", "In fr_CA, which gets the text in fr-CA:", "In fr-BE, which gets the text in fr:",
                "In de, which gets the common text:",
            ])
    }

    @Test("sends the whole message if no language is asked for")
    func whole() throws {
        let test = try #require(try tests().first)
        #expect(test.content["notification"] == Self.message.object?["notification"] && test.remark == nil)
        #expect(test.content["name"] == "Noon (test)")
    }

    @Test("fails if the whole message would be refused")
    func refused() throws {
        let message: JSONValue = ["notification": ["body": "a", "localizations": ["french": ["body": "b"]]]]
        let whole = try #require(message.object)
        let fault = #expect(throws: CommandFault.self) {
            try TestMessage.all(of: whole, in: ["fr"], to: ["installations": ["phone-1"]])
        }
        #expect(fault?.kind == .refused)
    }
}

@Suite("A test that did not reach every receiver")
struct TestShortfallTests {
    private func sentence(
        _ receiver: String, audience: Int = 1, _ failures: [JSONValue] = [], reached: Int64 = 0,
        hasAudience: Bool = true
    ) throws -> String {
        let part = try #require(try TestReceivers([receiver]).parts.first)
        let account: JSONValue = ["id": "m", "audience": .number(.whole(Int64(audience)))]
        return TestShortfall(part, account: account, failures: failures)
            .sentence(reached: reached, hasAudience: hasAudience)
    }

    private func failure(_ installation: String, _ state: String, _ reason: String) -> JSONValue {
        ["installation": .string(installation), "state": .string(state), "reason": .string(reason)]
    }

    @Test("names a receiver that does not exist, and the form that may be meant")
    func unknown() throws {
        let ana = failure("ana", "rejected", "unknown_device")
        #expect(
            try sentence("ana", [ana]) == "No installation is called ana (a user? user:ana). Nothing was sent.")
        #expect(
            try sentence("ana,ben", [ana], reached: 1)
                == "No installation is called ana (a user? user:ana). The audience was not sent to.")
        #expect(try sentence("user:ben", audience: 0).hasPrefix("The user ben has no device (an installation? "))
        #expect(
            try sentence("user:ben", [failure("-", "rejected", "unknown_user")]).hasPrefix("The user ben has no device")
        )
        #expect(try sentence("tag:staff", audience: 0) == "No device has the tag staff. Nothing was sent.")
    }

    @Test("says why a known receiver did not get it")
    func refused() throws {
        let text = try sentence("ana", [failure("ana", "unregistered", "Unregistered")], hasAudience: false)
        #expect(text == "ana did not get the test: unregistered, Unregistered.")
        #expect(try sentence("ana").hasPrefix("Not every test receiver got it (the installation ana)."))
    }
}
