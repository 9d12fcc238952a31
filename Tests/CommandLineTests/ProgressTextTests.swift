import CommandLine
import Foundation
import JSON
import Testing

@Suite("A message's progress in a terminal")
struct ProgressTextTests {
    private func message(_ progress: String, pending: Int = 50) throws -> JSONValue {
        let account = #"{"id":"m","state":"sending","audience":100,"outcomes":{"accepted":49,"rejected":1},"#
        return try JSONReader.read(Array((account + #""pending":\#(pending),"progress":{\#(progress)}}"#).utf8))
    }

    private static let apple = """
        "apns":{"outcomes":{"accepted":49,"rejected":1},"pending":50,"sending":20,"ready":0,"waiting":30,
        "reasons":[{"outcome":"rejected","reason":"BadTopic","count":1}],"other_reasons":2}
        """

    @Test("shows a bar, a pace, an estimated end, and the outcomes and reasons per provider")
    func screen() throws {
        let progress =
            #""at":"2026-12-01T12:00:00Z","ended":50,"providers":{\#(Self.apple)},"waiting":[],"#
            + #""estimate":{"finished_at":"2026-12-01T12:02:10Z","pushes_per_second":3.9}"#
        let text = ProgressText(try message(progress))
        #expect(
            text.screen(["and so on"]) == [
                "message m  sending", "  [###############---------------] 50 %  50 of 100 ended",
                "  3.9 a second, done in about 2 min",
                "  apns: 49 accepted, 1 rejected, 50 pending (20 being sent, 30 waiting)",
                "    1 rejected: BadTopic", "    2 for other reasons", "and so on",
            ])
        #expect(text.line == "sending  50 of 100 ended  3.9 a second, done in about 2 min")
    }

    @Test("claims nothing unknown: no estimate without a pace, no share without an audience")
    func unknown() throws {
        let progress =
            #""ended":50,"providers":{},"waiting":[],"estimate":{"finished_at":null,"pushes_per_second":null}"#
        #expect(ProgressText(try message(progress)).estimate == nil)
        let planned: JSONValue = ["id": "m", "state": "planning", "audience": .null, "pending": 1]
        #expect(ProgressText(planned).bar == "[------------------------------]  the audience is being found")
    }

    @Test("shows the scheduled time before it, paused or not, and the work done after it")
    func scheduled() throws {
        func message(_ state: String, at now: String, ended: Int = 0) throws -> JSONValue {
            let members =
                #""id":"m","state":"\#(state)","audience":null,"send_at":"2026-12-01T12:00:00.000Z","pending":0,"#
                + #""progress":{"at":"\#(now)","ended":\#(ended),"providers":{},"waiting":[]}"#
            return try JSONReader.read(Array("{\(members)}".utf8))
        }
        func line(_ state: String, at now: String, ended: Int = 0) throws -> String {
            ProgressText(try message(state, at: now, ended: ended), zone: .gmt).line
        }
        for state in ["scheduled", "paused"] {
            let reported = try line(state, at: "2026-12-01T11:59:59Z")
            #expect(reported == "\(state)  to be sent on Tue 2026-12-01 12:00 (GMT)")
        }
        let paused = AccountText(try message("paused", at: "2026-12-01T11:59:59Z"), app: "garden", zone: .gmt).lines
        #expect(
            paused == ["message m  paused", "  to be sent on Tue 2026-12-01 12:00 (GMT), if it is resumed by then"])
        let late = AccountText(try message("paused", at: "2026-12-01T12:00:01Z"), app: "garden").lines
        #expect(late == ["message m  paused"])
        let held: JSONValue = [
            "id": "m",
            "progress": ["waiting": [["for": "hour", "pushes": .null], ["for": "resume", "pushes": .null]]],
        ]
        #expect(
            WaitText.lines(of: held, app: "garden") == [
                "the message is paused", "  -> carillon messages resume m --app garden continues it",
            ])
        let local: JSONValue = [
            "id": "m", "state": "scheduled", "audience": .null, "send_at": "2026-12-01T12:00:00",
            "device_local_time": true,
        ]
        #expect(ProgressText(local).line == "scheduled  to be sent when a device's clock shows 2026-12-01T12:00:00")
        #expect(try line("planning", at: "2026-12-01T12:00:01Z") == "planning  the audience is being found")
        #expect(try line("planning", at: "2026-12-01T11:59:59Z", ended: 1).contains("1 ended"))
    }

    @Test("says why no device received the message: empty audience, cancelled, or all failed")
    func noReceiver() {
        let empty: JSONValue = ["id": "m", "state": "finished", "audience": 0]
        #expect(empty.whyNobody == "the audience is empty: no device matches it")
        for outcomes in [["accepted": 0], ["accepted": 0, "cancelled": 2]] as [JSONValue] {
            let cancelled: JSONValue = ["id": "m", "state": "cancelled", "audience": 2, "outcomes": outcomes]
            #expect(cancelled.whyNobody == "it was cancelled before any device received it")
        }
        let late: JSONValue = [
            "id": "m", "state": "cancelled", "audience": 3, "outcomes": ["cancelled": 2, "rejected": 1],
        ]
        let noDevice = "no device received the message. For the reasons: carillon messages failures m"
        #expect(late.whyNobody == noDevice)
        let refused: JSONValue = ["id": "m", "state": "finished", "audience": 2]
        #expect(refused.whyNobody == noDevice)
    }

    @Test("measures against the expected audience during planning, and never shows 100 %")
    func planning() throws {
        func text(ended: Int, expected: String) throws -> ProgressText {
            let members =
                #""id":"m","state":"planning","audience":null,"pending":0,"progress":{"at":"2026-12-01T12:00:00Z","#
                + #""ended":\#(ended),"providers":{},"waiting":[],"estimate":{"audience":\#(expected),"#
                + #""finished_at":"2026-12-01T12:10:00Z","pushes_per_second":9000.0}}"#
            return ProgressText(try JSONReader.read(Array("{\(members)}".utf8)))
        }
        let early = try text(ended: 1_200_000, expected: "9973412")
        #expect(
            early.bar
                == "[###---------------------------] 12 %  1200000 ended of about 9900000, the audience is being found")
        #expect(
            early.line == "planning  1200000 ended of about 9900000, the audience is being found  "
                + "9000 a second, done in about 10 min")
        let late = try text(ended: 9_950_000, expected: "9973412").bar
        #expect(late.hasSuffix("99 %  9950000 ended of about 9950000, the audience is being found"))
        for unknown in ["null", "0", "-5", #""many""#] {
            let bar = try text(ended: 5, expected: unknown).bar
            #expect(bar == "[------------------------------]  5 ended, the audience is being found")
        }
        #expect(try !text(ended: 5, expected: "9223372036854775807").bar.isEmpty)
    }

    @Test(
        "rounds a duration to seconds, minutes, hours or days",
        arguments: [
            (0, "1 s"), (89, "89 s"), (90, "2 min"), (3_600, "60 min"), (7_200, "2 h"), (200_000, "2 days"),
        ])
    func spans(seconds: Int, text: String) {
        #expect(ProgressText.span(.seconds(seconds)) == text)
    }

    @Test("survives counts, paces and dates of the largest size")
    func absurd() throws {
        let count = String(Int64.max)
        let wait =
            #"{"for":"later","provider":"apns","environment":"sandbox","topic":"","pushes":\#(count),"reason":null}"#
        let progress =
            #""ended":\#(count),"providers":{"apns":{"pending":\#(count),"sending":\#(count)}},"waiting":[\#(wait),\#(wait)],"#
            + #""estimate":{"finished_at":"9999-12-31T23:59:59Z","pushes_per_second":1e300}"#
        let text = ProgressText(try message(progress))
        #expect(!text.line.isEmpty && !text.screen([]).isEmpty)
    }

    @Test("names what pushes wait for, and what to do about it")
    func waits() throws {
        func lines(_ members: String) throws -> [String] {
            let wait = #"{"provider":"apns","environment":"production","topic":"","pushes":40000,\#(members)}"#
            return WaitText.lines(of: try message(#""waiting":[\#(wait)]"#), app: "garden")
        }
        #expect(
            try lines(#""for":"unreachable","since":"2026-12-01T12:03:00.000Z","reason":"nobody listens""#).first
                == "40000 pushes wait: apns production has been unreachable since 2026-12-01T12:03:00.000Z "
                + "(nobody listens)"
        )
        let remaining = #""for":"throttled","since":"2026-12-01T12:03:00.000Z","reason":"it answers 429""#
        #expect(
            try lines(remaining + #","until":"2026-12-01T12:04:00.000Z""#) == [
                "40000 pushes wait: apns production has been throttling since 2026-12-01T12:03:00.000Z (it answers 429)",
                "  -> no action is needed: a few pushes are tried at 2026-12-01T12:04:00.000Z",
            ])
        #expect(try lines(remaining + #","until":null"#).last?.hasSuffix("a few pushes are tried now") == true)
        #expect(
            try lines(#""for":"resume","reason":null"#) == [
                "40000 pushes wait: the message is paused",
                "  -> carillon messages resume m --app garden continues them",
            ])
        let held = #"{"for":"resume","provider":"apns","environment":"production","topic":"","pushes":3,"reason":null}"#
        let other =
            #"{"for":"credential","provider":"fcm","environment":"production","topic":"","pushes":1,"reason":null}"#
        let paused = WaitText.lines(of: try message(#""waiting":[\#(held),\#(other),\#(held)]"#), app: "garden")
        #expect(paused.count == 4 && paused.first == "6 pushes wait: the message is paused", "\(paused)")
        #expect(
            try lines(#""for":"later","until":"2026-12-01T12:05:00.000Z","reason":"provider_busy""#) == [
                "40000 pushes wait until 2026-12-01T12:05:00.000Z at least: apns production (provider_busy)"
            ])
        #expect(try lines(#""for":"credential","reason":null"#).count == 2)
        #expect(try lines(#""for":"tomorrow\u001b[2J","reason":null"#).first?.contains("\u{1b}") == false)
    }
}

@Suite("A terminal screen that is redrawn")
struct ScreenTests {
    @Test("replaces the previous lines, however many they were")
    func places() {
        var screen = Screen()
        #expect(screen.clear() == "")
        let first = screen.draw(["one", "two"])
        #expect(!first.contains("A\r") && first.contains("one\n"))
        let second = screen.draw(["three"])
        #expect(second.contains("\u{1b}[2A\r") && second.contains("\u{1b}[J"))
        #expect(screen.clear() == "\u{1b}[1A\r\u{1b}[J")
        #expect(screen.draw(["x\u{1b}[2J"]).contains("x\\u{1b}[2J"))
    }

    /// A minimal terminal: it understands only what the screen writes, and keeps the lines that scrolled off the top.
    private struct Window {
        var rows: Int
        var lines = [""]
        var row = 0
        var gone: [String] = []

        mutating func show(_ text: String) {
            for part in text.split(separator: "\u{1b}[") {
                guard let end = part.firstIndex(where: \.isLetter) else { continue }
                let count = Int(part[..<end])
                switch part[end] {
                case "A": row = max(0, row - (count ?? 1))
                case "J":
                    lines.removeSubrange((row + 1)...)
                    lines[row] = ""
                case "K": lines[row] = ""
                default: break
                }
                for character in part[part.index(after: end)...] {
                    guard character == "\n" else {
                        if character != "\r" { lines[row].append(character) }
                        continue
                    }
                    row += 1
                    if row == lines.count { lines.append("") }
                    guard lines.count > rows else { continue }
                    gone.append(lines.removeFirst())
                    row -= 1
                }
            }
        }
    }

    @Test("shortens lines that don't fit the window, and says how many are missing")
    func low() {
        var screen = Screen()
        var window = Window(rows: 5)
        for number in 1...3 {
            window.show(screen.draw((1...9).map { "\(number).\($0)" }, rows: 5))
            let remaining = "(6 more lines: this window is too low for them)"
            #expect(
                window.lines == ["\(number).1", "\(number).2", "\(number).3", remaining, ""] && window.gone.isEmpty)
        }
        window.show(screen.draw(["4.1", "4.2", "4.3", "4.4"], rows: 5))
        #expect(window.lines == ["4.1", "4.2", "4.3", "4.4", ""])
        window.show(screen.draw(["5.1"], rows: 5))
        #expect(window.lines.prefix(2) == ["5.1", ""])
        window.show(screen.clear())
        #expect(window.lines.allSatisfy(\.isEmpty) && window.gone.isEmpty)
    }
}
