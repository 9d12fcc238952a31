import Calendar
import CommandLine
import Foundation
import JSON
import Testing

@Suite("The question before a message is sent")
struct SendQuestionTests {
    private func question(_ message: String, _ count: String?, appZone: String? = nil) throws -> SendQuestion {
        SendQuestion(
            try #require(try JSONReader.read(Array(message.utf8)).object),
            count: try count.map { AudienceCount(try JSONReader.read(Array($0.utf8))) }, appZone: appZone,
            zone: try #require(TimeZone(identifier: "Europe/Paris")),
            now: try #require(RFC3339.parse("2026-11-27T07:30:00Z")))
    }

    private static let counts =
        #"{"count":1204,"exact":true,"by":{"provider":{"apns":800,"fcm":404},"language":{"de":300,"none":304,"fr":600},"#
        + #""time_zone":{"Europe/Paris":1201,"none":3}},"passed":12}"#

    @Test("names the number of devices, by provider and by language")
    func count() throws {
        let question = try question(#"{"audience":{"tags":{"any":["news"]}}}"#, Self.counts)
        #expect(question.sentence(app: "garden") == "Send to 1,204 devices with the tag news of the app garden?")
        #expect(
            question.lines() == [
                "  text: none, a push without text", "  by provider: apns 800, fcm 404",
                "  by language: fr 600, de 300, not known 304",
            ])
        #expect(question.audienceLines(withZones: true).last == "  by time zone: Europe/Paris 1,201, not known 3")
    }

    @Test("shows the text that is sent, in each language, and the number of devices")
    func texts() throws {
        let message =
            #"{"audience":{"all":true},"notification":{"title":"Bells","subtitle":"Tower","body":"Noon\nis here","#
            + #""localizations":{"fr":{"body":"Midi"},"de":{"title":"Glocken","body":"\u001b[2JMittag"}}}}"#
        let question = try question(message, #"{"count":984,"exact":true,"by":{}}"#)
        let lines = question.lines()
        #expect(lines.prefix(2) == ["  text: Bells: Tower: Noon is here", "  text (fr): Midi"])
        #expect(lines.count == 3 && lines[2].hasSuffix("Mittag") && !lines[2].contains("\u{1b}"))
        #expect(question.sentence(app: "garden") == "Send to all 984 devices of the app garden?")
        let many = (0..<11).map { #""l\#($0)":{"body":"x"}"# }.joined(separator: ",")
        let long = String(repeating: "x", count: 400)
        let shortened = try self.question(
            #"{"notification":{"body":"\#(long)","localizations":{\#(many)}}}"#, nil
        ).lines()
        #expect(shortened.count == 10 && shortened[0].count < 320 && shortened[0].hasSuffix("…"))
        #expect(shortened.last == "  and 3 more languages")
    }

    @Test("shows the picture and the link of each language that has its own")
    func addresses() throws {
        let message =
            #"{"notification":{"body":"Noon","image":"https://a.example/n.png","link":"app://noon","#
            + #""localizations":{"fr":{"body":"Midi","link":"app://\u001bmidi"}}}}"#
        let lines = try question(message, nil).lines()
        #expect(
            lines.prefix(4) == [
                "  text: Noon", "  text (fr): Midi", "  image: https://a.example/n.png", "  link: app://noon",
            ])
        #expect(lines.count == 5 && lines[4].hasPrefix("  link (fr): app://") && !lines[4].contains("\u{1b}"))
    }

    @Test("says \"at least\" if the gateway did not count to the end, and nothing without a count")
    func inexact() throws {
        let all = #"{"audience":{"all":true}}"#
        let inexact = try question(all, #"{"count":900000,"exact":false,"by":{}}"#)
        #expect(inexact.sentence(app: "garden") == "Send to at least 900,000 devices of the app garden?")
        let unknown = try question(all, nil)
        #expect(unknown.sentence(app: "garden") == "Send to all devices of the app garden?")
        #expect(unknown.audienceLines().isEmpty)
    }

    @Test("names the hour on the person's clock, also if it has passed")
    func hour() throws {
        func sentence(_ sendAt: String) throws -> String {
            try question(#"{"audience":{"all":true},"options":{"send_at":"\#(sendAt)"}}"#, nil).sentence(app: "garden")
        }
        let start = "Send to all devices of the app garden on Fri 2026-11-27 0"
        #expect(try sentence("2026-11-27T08:00:00.000Z") == start + "9:00 (Europe/Paris)?")
        #expect(
            try sentence("2026-11-27T07:00:00.000Z")
                == start + "8:00 (Europe/Paris), which has passed: it is sent at once?")
    }

    @Test("says what happens where a local hour has passed, and whose clock decides without a zone")
    func localHour() throws {
        func message(_ passed: String) -> String {
            #"{"audience":{"all":true},"options":{"send_at":"2026-11-27T09:00:00","device_local_time":true\#(passed)}}"#
        }
        let suppressed = try question(message(""), Self.counts, appZone: "Asia/Tokyo")
        #expect(
            suppressed.sentence(app: "garden")
                == "Send to all 1,204 devices of the app garden when each device's clock shows Fri 2026-11-27 09:00?")
        #expect(
            suppressed.lines().suffix(2) == [
                "  This hour has passed already for 12 devices: they get nothing (--local-time-passed send sends it to "
                    + "them at once).",
                "  3 devices without a time zone: the app's clock decides (Asia/Tokyo).",
            ])
        let sent = try question(message(#","local_time_passed":"send""#), Self.counts)
        #expect(
            sent.lines().suffix(2) == [
                "  This hour has passed already for 12 devices: they get the message at once.",
                "  3 devices without a time zone: the app's clock decides (the app's time zone, else UTC).",
            ])
    }
}

@Suite("A message that may be a repetition")
struct RecentDuplicateTests {
    private let message =
        #"{"audience":{"tags":{"any":["news","sport"]}},"notification":{"body":"Noon","localizations":{"fr":{"body":"Midi"}}}}"#

    private func isSame(_ request: String) throws -> Bool {
        RecentDuplicate.isSame(
            try JSONReader.read(Array(request.utf8)),
            as: try #require(try JSONReader.read(Array(message.utf8)).object))
    }

    @Test("has the same texts and audience, however the gateway stores them")
    func same() throws {
        #expect(
            try isSame(
                #"{"notification":{"localizations":{"fr":{"title":null,"body":"Midi"}},"body":"Noon"},"#
                    + #""audience":{"tags":{"any":["sport","news"],"all":[],"none":[]},"kind":null},"name":"Noon bells"}"#
            ))
    }

    @Test(
        "differs in a text, in a language or in the audience",
        arguments: [
            ("Midi", "Noon."), (#"Midi"},"de":{"body":"Mittag"#, "Noon"), ("midi", "Noon"),
            (#"Midi","title":"x"#, "Noon"),
        ])
    func other(french: String, common: String) throws {
        let texts = #""notification":{"body":"\#(common)","localizations":{"fr":{"body":"\#(french)"}}}"#
        #expect(try !isSame(#"{"audience":{"tags":{"any":["news","sport"]}},\#(texts)}"#))
        let same = texts.replacing(common, with: "Noon").replacing(french, with: "Midi")
        #expect(try !isSame(#"{"audience":{"tags":{"any":["news"]}},\#(same)}"#))
    }

    @Test("can only be one of the last minute, with the text that the list shows")
    func listed() throws {
        func mayBe(_ accepted: String, _ texts: String) throws -> Bool {
            RecentDuplicate.mayBeSame(
                try JSONReader.read(Array(#"{"accepted_at":"\#(accepted)","texts":\#(texts)}"#.utf8)),
                as: try #require(try JSONReader.read(Array(message.utf8)).object),
                newest: try #require(RFC3339.parse("2026-11-27T08:01:00Z")))
        }
        let texts = #"[{"language":null,"title":null,"body":"Noon"}]"#
        #expect(try mayBe("2026-11-27T08:00:30.000Z", texts) && mayBe("2026-11-27T08:00:30.000Z", "[]"))
        #expect(try !mayBe("2026-11-27T07:59:59.000Z", texts))
        #expect(try !mayBe("2026-11-27T08:00:30.000Z", texts.replacing("Noon", with: "Midnight")))
    }

    @Test("has its age by the gateway's clock")
    func age() throws {
        let accepted = #""accepted_at":"2026-11-27T08:00:30.000Z""#
        func age(_ others: String) throws -> Duration? {
            RecentDuplicate.age(of: try JSONReader.read(Array("{\(accepted)\(others)}".utf8)))
        }
        #expect(try age(#","progress":{"at":"2026-11-27T08:01:00.000Z"}"#) == .seconds(30))
        #expect(try age("") == nil)
    }
}
