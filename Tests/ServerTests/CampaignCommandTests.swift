import JSON
import Testing

@Suite("A campaign by commands")
struct CampaignCommandTests {
    private static let messages = "/v1/apps/garden/messages"

    private static func account(
        _ id: String, _ state: String = "finished", _ others: String = "", accepted: Int = 2
    ) -> String {
        #"{"id":"\#(id)","state":"\#(state)","audience":2,"outcomes":{"accepted":\#(accepted)},"pending":0\#(others)}"#
    }

    private static let stored =
        #","request":{"audience":{"all":true},"notification":{"body":"Noon","localizations":{"fr":{"body":"Midi"}}}}"#

    @Test("edits one text and keeps the others, in one PATCH of the whole notification")
    func edited() async throws {
        let scheduled = Self.account("m", "scheduled", Self.stored)
        let gateway = CannedGateway(["GET \(Self.messages)/m": [scheduled], "PATCH \(Self.messages)/m": [scheduled]])
        #expect(try await gateway.run(["messages", "edit", "m", "--text", "fr:body=Il est midi"]) == 0)
        #expect(
            gateway.changes == [
                CannedGateway.Request(
                    line: "PATCH \(Self.messages)/m",
                    body: [
                        "notification": ["body": "Noon", "localizations": ["fr": ["body": "Il est midi"]]]
                    ])
            ])
        #expect(try await gateway.run(["messages", "edit", "m"]) == 64)
    }

    @Test(
        "counts and asks before an edit that makes or starts a broadcast",
        arguments: [["--tag", "news"], ["--at", "now"]])
    func startingEdit(change: [String]) async throws {
        let scheduled = Self.account("m", "scheduled", Self.stored)
        let answers = [
            "GET \(Self.messages)/m": [scheduled], "PATCH \(Self.messages)/m": [scheduled],
            "POST /v1/apps/garden/audience": [#"{"count":1204,"exact":true,"by":{}}"#],
        ]
        let asked = CannedGateway(answers)
        #expect(try await asked.run(["messages", "edit", "m"] + change) == 64)
        #expect(asked.changes.map(\.line) == ["POST /v1/apps/garden/audience"])
        let confirmed = CannedGateway(answers)
        #expect(try await confirmed.run(["messages", "edit", "m", "--yes"] + change) == 0)
        #expect(confirmed.changes.map(\.line) == ["PATCH \(Self.messages)/m"])
    }

    @Test("can't be edited once it has started, which is the gateway's refusal")
    func started() async throws {
        let gateway = CannedGateway([
            "GET \(Self.messages)/m": [Self.account("m", "sending", Self.stored)],
            "PATCH \(Self.messages)/m": [#"409 {"code":"message_started","detail":"The message has started."}"#],
        ])
        #expect(try await gateway.run(["messages", "edit", "m", "--name", "Noon bells"]) == 65)
    }

    @Test("duplicates a message, and changes the copy only")
    func duplicated() async throws {
        let copy = Self.account("n", "paused", Self.stored)
        let gateway = CannedGateway([
            "POST \(Self.messages)/m/duplicate": ["201 " + copy], "GET \(Self.messages)/n": [copy],
            "PATCH \(Self.messages)/n": [copy],
        ])
        #expect(try await gateway.run(["messages", "duplicate", "m"]) == 0)
        #expect(gateway.changes.map(\.line) == ["POST \(Self.messages)/m/duplicate"])
        #expect(try await gateway.run(["messages", "duplicate", "m", "--tag", "news", "--name", "Again"]) == 0)
        #expect(gateway.changes.last?.line == "PATCH \(Self.messages)/n")
        #expect(gateway.changes.last?.body == ["name": "Again", "audience": ["tags": ["any": ["news"]]]])
    }

    @Test("finds a message by the beginning of its id")
    func beginning() async throws {
        let id = "01a2257e-f3cb-7d64-b594-445ba36f5d59"
        let gateway = CannedGateway([
            "GET \(Self.messages)": [#"{"items":[\#(Self.account(id))],"next":null}"#],
            "POST \(Self.messages)/\(id)/pause": [Self.account(id, "paused")],
            "POST \(Self.messages)/\(id)/cancel": [Self.account(id, "cancelled")],
        ])
        #expect(try await gateway.run(["messages", "pause", "01a2257e-f3cb"]) == 0)
        #expect(try await gateway.run(["messages", "stop", "01a2257e", "--yes"]) == 0)
    }

    @Test("cancels the open broadcast that was accepted last, wherever its id puts it in the list")
    func last() async throws {
        let list = [
            ("c", "cancelled", 3, "all"), ("d", "sending", 4, "users"), ("a", "scheduled", 1, "all"),
            ("b", "sending", 2, "tags"),
        ].map {
            Self.account($0, $1, #","accepted_at":"2026-12-01T12:00:0\#($2)Z","asked":{"\#($3)":1}"#)
        }
        let gateway = CannedGateway([
            "GET \(Self.messages)": [#"{"items":[\#(list.joined(separator: ","))],"next":null}"#],
            "GET \(Self.messages)/b": [Self.account("b", "sending")],
            "POST \(Self.messages)/b/cancel": [Self.account("b", "cancelled")],
        ])
        #expect(try await gateway.run(["messages", "cancel", "--last", "--yes"]) == 0)
        #expect(gateway.changes.map(\.line) == ["POST \(Self.messages)/b/cancel"])
        let idle = CannedGateway(["GET \(Self.messages)": [#"{"items":[\#(list[0])],"next":null}"#]])
        #expect(try await idle.run(["messages", "cancel", "--last", "--yes"]) == 1)
    }

    @Test("tests on the named receivers only, without the hour and whatever the audience is")
    func tested() async throws {
        let gateway = CannedGateway([
            "POST \(Self.messages)": ["202 " + Self.account("t"), "202 " + Self.account("u")],
            "GET \(Self.messages)/t": [Self.account("t")], "GET \(Self.messages)/u": [Self.account("u")],
            "GET \(Self.messages)/t/events": [#"501 {"code":"not_supported","detail":"No events."}"#],
            "GET \(Self.messages)/u/events": [#"501 {"code":"not_supported","detail":"No events."}"#],
        ])
        let send = [
            "send", "--text", "body=Noon", "--name", "Noon bells", "--at", "2099-12-01T12:00:00Z", "--test-to",
            "phone-1,phone-2", "--test-to", "user:frida",
        ]
        #expect(try await gateway.run(send) == 0)
        let common: [(String, JSONValue)] = [
            ("notification", ["body": "Noon"]), ("name", "Noon bells (test)"),
            ("options", ["ignore_quiet_hours": true, "ignore_daily_cap": true]),
        ]
        let audiences: [JSONValue] = [["installations": ["phone-1", "phone-2"]], ["users": ["frida"]]]
        let bodies = audiences.map { audience in
            JSONValue.object(JSONObject((common + [("audience", audience)]).map { JSONMember($0.0, $0.1) }))
        }
        #expect(gateway.changes.map(\.body) == bodies)
    }

    @Test("tests each language that is asked for on the same phone")
    func testedLanguages() async throws {
        let gateway = CannedGateway([
            "POST \(Self.messages)": ["202 " + Self.account("t"), "202 " + Self.account("u")],
            "GET \(Self.messages)/t": [Self.account("t")], "GET \(Self.messages)/u": [Self.account("u")],
            "GET \(Self.messages)/t/events": [#"501 {"code":"not_supported","detail":"No events."}"#],
            "GET \(Self.messages)/u/events": [#"501 {"code":"not_supported","detail":"No events."}"#],
        ])
        let texts = ["send", "--body", "Noon", "--text", "fr:body=Midi", "--text", "ja:body=正午"]
        #expect(try await gateway.run(texts + ["--test-to", "phone-1", "--locale", "ja,fr"]) == 0)
        #expect(
            gateway.changes.map { $0.body.object?["notification"] } == [["body": "正午"], ["body": "Midi"]])
        let unused = CannedGateway([:])
        #expect(try await unused.run(texts + ["--all", "--locale", "ja", "--yes"]) == 64)
        #expect(try await unused.run(texts + ["--test-to", "phone-1", "--locale", "japanese"]) == 64)
        #expect(unused.requests.isEmpty)
    }

    @Test(
        "has no preview if it needs a device that can't be read",
        arguments: ["403", "401", "503"],
        [["--text", "ja:body=正午"], ["--title", "{{attributes.name | default: 'you'}}"]])
    func unreadable(status: String, texts: [String]) async throws {
        let code: Int32 = status == "503" ? 75 : 77
        let problem = #"\#(status) {"code":"forbidden","detail":"No.","missing_scopes":["devices"]}"#
        let gateway = CannedGateway(["GET /v1/apps/garden/devices/phone-1": [problem]])
        let preview = ["send", "--installation", "phone-1", "--body", "Noon", "--preview"]
        #expect(try await gateway.run(preview + texts) == code)
        #expect(try await gateway.run(preview) == 0)
        let isTemplate = texts[0] == "--title"
        #expect(try await gateway.run(preview + texts + ["--locale", "ja"]) == (isTemplate ? code : 0))
    }

    @Test("stops after a test that did not reach every receiver")
    func failedTest() async throws {
        let gateway = CannedGateway([
            "POST \(Self.messages)": ["202 " + Self.account("t")], "GET \(Self.messages)/t": [Self.account("t")],
            "GET \(Self.messages)/t/events": [#"501 {"code":"not_supported","detail":"No events."}"#],
        ])
        let send = ["send", "--all", "--body", "Noon", "--test-to", "phone-1,phone-2,phone-3", "--yes"]
        #expect(try await gateway.run(send) == 1)
        #expect(gateway.changes.count == 1)
    }

    @Test("stops if one user has no device, though another one has two")
    func absentUser() async throws {
        let unheard = #"501 {"code":"not_supported","detail":"No events."}"#
        let gateway = CannedGateway([
            "POST \(Self.messages)": ["202 " + Self.account("t"), "202 " + Self.account("u", accepted: 0)],
            "GET \(Self.messages)/t": [Self.account("t")],
            "GET \(Self.messages)/u": [Self.account("u", accepted: 0)],
            "GET \(Self.messages)/t/events": [unheard], "GET \(Self.messages)/u/events": [unheard],
        ])
        let send = ["send", "--all", "--body", "Noon", "--test-to", "user:ann,user:ben", "--yes"]
        #expect(try await gateway.run(send) == 1)
        #expect(gateway.changes.count == 2)
    }

    @Test("counts its audience and sends nothing")
    func counted() async throws {
        let gateway = CannedGateway([
            "POST /v1/apps/garden/audience": [#"{"count":1204,"exact":true,"by":{"provider":{"apns":1204}}}"#]
        ])
        #expect(try await gateway.run(["send", "--tag", "news", "--body", "Noon", "--count"]) == 0)
        #expect(
            gateway.changes == [
                CannedGateway.Request(
                    line: "POST /v1/apps/garden/audience", body: ["audience": ["tags": ["any": ["news"]]]])
            ])
    }

    @Test("has no preview for an installation that the registry does not know")
    func unknownInstallation() async throws {
        let unknown = CannedGateway([
            "GET /v1/apps/garden/devices/phone-9": [#"404 {"code":"unknown_device","detail":"It is unknown."}"#]
        ])
        #expect(try await unknown.run(["send", "--installation", "phone-9", "--body", "Noon", "--preview"]) == 65)
        let known = CannedGateway([
            "GET /v1/apps/garden/devices/phone-1": [#"{"installation":"phone-1","registrations":[]}"#]
        ])
        #expect(try await known.run(["send", "--installation", "phone-1", "--body", "Noon", "--preview"]) == 0)
    }

    @Test(
        "refuses a text that shows nothing before it asks the gateway",
        arguments: [
            ["send", "--all", "--body", "", "--yes"], ["send", "--all", "--title", " \u{200b}", "--yes"],
            ["send", "--all", "--title", "Noon", "--body", "", "--yes"],
            ["send", "--all", "--body", "Noon", "--text", "fr:body=", "--yes"],
            ["send", "--body", "", "--test-to", "phone-1"], ["send", "--all", "--body", "", "--count"],
            ["messages", "edit", "m", "--body", ""], ["messages", "duplicate", "m", "--subtitle", "\n"],
        ])
    func blank(arguments: [String]) async throws {
        let gateway = CannedGateway([:])
        #expect(try await gateway.run(arguments) == 64)
        #expect(gateway.requests.isEmpty)
    }

    @Test("refuses a language that is none before it sends anything")
    func language() async throws {
        let gateway = CannedGateway([:])
        #expect(try await gateway.run(["send", "--all", "--text", "french:body=Midi", "--yes"]) == 64)
        #expect(gateway.requests.isEmpty)
    }
}
