import Calendar
import CommandLine
import Foundation
import JSON
import Testing

@Suite("A campaign in a terminal")
struct CampaignTextTests {
    private func zone() throws -> TimeZone { try #require(TimeZone(identifier: "Europe/Paris")) }

    private func message(
        _ id: String, _ state: String, _ others: String, accepted: Int = 1_204, pending: Int = 7_796
    ) throws -> JSONValue {
        let counts = #""audience":9000,"outcomes":{"accepted":\#(accepted)},"pending":\#(pending)"#
        return try JSONReader.read(
            Array(
                (#"{"id":"\#(id)","state":"\#(state)",\#(counts),"accepted_at":"2026-11-27T08:00:00.000Z","#
                    + #"\#(others)}"#).utf8))
    }

    private static let bells =
        #""name":"Noon bells","author":"marketing","audience_text":"everybody with the tag news","texts":["#
        + #"{"language":null,"title":"Noon","body":"Twelve\no'clock"},{"language":"fr","title":null,"body":"Midi"}]"#

    @Test("shows its name, its text in each language, its audience, its author and its hour")
    func lines() throws {
        let lines = MessageSummary(try message("m", "sending", Self.bells), zone: try zone()).lines
        #expect(
            lines == [
                "  name: Noon bells", "  text: Noon: Twelve o'clock", "  text (fr): Midi",
                "  to: everybody with the tag news", "  by marketing, accepted on Fri 2026-11-27 09:00 (Europe/Paris)",
            ])
        let swept = MessageSummary(
            try message("m", "finished", #""name":null,"author":null,"audience_text":null,"texts":null"#),
            zone: try zone())
        #expect(swept.lines == ["  text: no longer stored", "  accepted on Fri 2026-11-27 09:00 (Europe/Paris)"])
        let account = AccountText(try message("m", "sending", Self.bells), app: "garden", zone: try zone())
        #expect(account.lines.dropFirst().starts(with: lines))
    }

    @Test("shows its picture and its link where the answer has the request")
    func addresses() throws {
        let request = #","request":{"notification":{"image":"https://a.example/n.png","link":"app://noon"}}"#
        let lines = MessageSummary(try message("m", "sending", Self.bells + request), zone: try zone()).lines
        #expect(lines.contains("  image: https://a.example/n.png") && lines.contains("  link: app://noon"))
    }

    @Test("makes hostile characters of its texts visible")
    func hostile() throws {
        let texts = #""name":"a\u001b[2J","texts":[{"language":"fr","title":"b\u001b[2J","body":null}]"#
        let summary = MessageSummary(try message("m", "sending", texts), zone: try zone())
        #expect((summary.lines + [summary.title, summary.textCell]).allSatisfy { !$0.contains("\u{1b}") })
    }

    @Test("has its place in the list by its acceptance, or apart by its hour while scheduled")
    func list() throws {
        let due = try [("late", "2026-12-02T08:00:00.000Z"), ("soon", "2026-12-01T08:00:00.000Z")].map { id, hour in
            try message(id, "scheduled", Self.bells + #","send_at":"\#(hour)""#)
        }
        let sent = try message(
            "now", "sending", Self.bells.replacing("Twelve", with: "Twelve o'clock of the old bells"))
        let lines = MessageList([due[0], sent], scheduled: due, zone: try zone()).lines
        #expect(
            lines.map { $0.split(separator: "  ").map { $0.trimmingCharacters(in: .whitespaces) } } == [
                [
                    "ID", "STATE", "NAME", "TEXT", "TO", "BY", "ACCEPTED AT (Europe/Paris)", "DEVICES", "ACCEPTED",
                    "PENDING",
                ],
                [
                    "now", "sending", "Noon bells", "Noon: Twelve o'clock of the old…", "everybody with the tag news",
                    "marketing", "2026-11-27 09:00", "9000", "1204", "7796",
                ], [], ["Scheduled:"], ["ID", "SENT AT (Europe/Paris)", "NAME", "TEXT", "TO", "BY"],
                [
                    "soon", "2026-12-01 09:00", "Noon bells", "Noon: Twelve o'clock", "everybody with the tag news",
                    "marketing",
                ],
                [
                    "late", "2026-12-02 09:00", "Noon bells", "Noon: Twelve o'clock", "everybody with the tag news",
                    "marketing",
                ],
            ])
        #expect(MessageList([], zone: try zone()).lines.isEmpty)
        let hour = #","send_at":"2026-12-03T08:00:00.000Z""#
        let paused = try message("draft", "paused", Self.bells + hour, accepted: 0, pending: 0)
        let drafts = MessageList([paused], zone: try zone(), now: try #require(RFC3339.parse("2026-12-03T07:59:59Z")))
        #expect(drafts.lines.first == "Scheduled:" && drafts.lines.last?.contains("09:00 (paused)") == true)
        let passed = MessageList([paused], zone: try zone(), now: try #require(RFC3339.parse("2026-12-03T08:00:00Z")))
        #expect(passed.lines.first?.contains("ACCEPTED AT") == true)
    }

    @Test("fits a narrow window by fewer columns, and beginnings of ids that differ")
    func narrow() throws {
        let ids = ["01a2257e-f3cb-7d64-b594-445ba36f5d59", "01a2257e-f3cb-7130-9ef7-d73bbd816875"]
        let messages = try ids.map { try message($0, "finished", Self.bells) }
        let list = MessageList(messages, columns: 80, zone: try zone())
        #expect(list.lines.allSatisfy { TerminalText.columns($0) <= 80 })
        #expect(list.lines[0].split(separator: " ").first == "ID" && list.lines[0].hasSuffix("PENDING"))
        #expect(list.lines[1].hasPrefix("01a2257e-f3cb-7d64  finished  Noon bells"))
        #expect(MessageList(messages, columns: 200, zone: try zone()).lines[1].hasPrefix(ids[0]))
    }

    @Test("has an id that its beginning names, unless other ids begin alike")
    func reference() throws {
        let ids = ["01a2257e-f3cb-7d64-b594-445ba36f5d59", "01a2257e-f3cc-7130-9ef7-d73bbd816875"]
        #expect(try MessageReference.id("01A2257E-f3cb", among: ids) == ids[0])
        #expect(try MessageReference.id("01a2257f", among: ids) == "01a2257f")
        let fault = #expect(throws: CommandFault.self) { try MessageReference.id("01a2257e", among: ids) }
        #expect(fault?.kind == .usage && fault?.description.contains(ids[1]) == true)
        #expect(MessageReference.length(for: ids) == 13)
    }

    @Test("has its name in the question before it is cancelled, with the pushes sent so far")
    func cancellation() throws {
        let text = CancellationText(try message("m", "sending", Self.bells), zone: try zone())
        #expect(text.lines.first == "message m  sending" && text.lines.contains("  name: Noon bells"))
        #expect(text.lines.last == "  pushes sent so far: 1,204 of 9,000")
        #expect(text.question.hasPrefix("Cancel the message m, \"Noon bells\"?"))
    }
}

@Suite("A change of a campaign that has not started")
struct MessageChangeTests {
    private func body(_ message: String, _ make: (inout MessageChange) throws -> Void) throws -> String {
        var change = MessageChange()
        try make(&change)
        let zone = try #require(TimeZone(identifier: "Europe/Paris"))
        let body = try change.body(over: try JSONReader.read(Array(message.utf8)), zone: zone)
        return String(decoding: JSONValue.object(body).bytes, as: UTF8.self)
    }

    private static let stored =
        #"{"id":"m","state":"scheduled","request":{"audience":{"all":true},"notification":"#
        + #"{"title":"Noon","body":"Twelve","localizations":{"fr":{"body":"Midi"},"de":{"body":"Mittag"}}}}}"#

    @Test("keeps the texts that it does not name")
    func texts() throws {
        let body = try body(Self.stored) { try $0.texts.add(option: "fr:body=Il est midi") }
        #expect(
            body == #"{"notification":{"title":"Noon","body":"Twelve","#
                + #""localizations":{"fr":{"body":"Il est midi"},"de":{"body":"Mittag"}}}}"#)
    }

    @Test("keeps the clock that decides: the device's own, or the person's")
    func hour() throws {
        let hour = AskedTime.local(try #require(RFC3339.parseLocal("2026-12-01T09:00:00")))
        #expect(try body(Self.stored) { $0.hour = hour } == #"{"send_at":"2026-12-01T08:00:00.000Z"}"#)
        let local = #"{"id":"m","request":{"options":{"device_local_time":true}}}"#
        #expect(try body(local) { $0.hour = hour } == #"{"send_at":"2026-12-01T09:00:00"}"#)
        #expect(try body(Self.stored) { $0.hour = .now } == #"{"send_at":null}"#)
    }

    @Test("needs the stored content for its texts only")
    func swept() throws {
        let swept = #"{"id":"m","texts":null}"#
        #expect(try body(swept) { $0.name = "Noon bells" } == #"{"name":"Noon bells"}"#)
        let fault = #expect(throws: CommandFault.self) { try body(swept) { try $0.texts.add(option: "body=x") } }
        #expect(fault?.kind == .refused)
    }
}
