import CommandLine
import JSON
import Testing

@Suite("Wake-up in a terminal")
struct WakeUpTextTests {
    private func read(_ text: String) throws -> JSONValue { try JSONReader.read(Array(text.utf8)) }

    @Test("shows settings and counts in words")
    func lines() throws {
        let settings = """
            {"enabled":true,"default_days":30,"longest_days":365,"gather_ms":1000,"weight_bytes":1048576,
             "weight_leaves":10000,"subscriptions_max":10000000,"unproven_hours":24,
             "apns":{"presentation":"background"}}
            """
        let counts = #"{"subscriptions":12,"watches":1,"due_watches":0,"due_since":null,"revocations":0,"notices":0}"#
        #expect(
            WakeUpText.lines(settings: try read(settings), counts: try read(counts)) == [
                "wake-up        on", "expiry         30 days after the last refresh",
                "gathering      changes within 1000 ms are told together",
                "heaviest node  10000 values, 1048576 bytes", "on Apple       background",
                "subscriptions  12 to 1 path",
                "at most        10000000; above half of them, unproven ones end after 24 hours",
                "to be told     nothing", "to be revoked  nothing",
                "notices        0 under way",
            ])
    }

    @Test("shows what waits, and since when")
    func waiting() throws {
        let settings = #"{"enabled":false,"apns":{"presentation":"alert","title":"News","body":"Open the app"}}"#
        let counts = """
            {"subscriptions":0,"watches":2,"due_watches":2,"due_since":"2026-12-01T12:00:00Z","revocations":1,
             "notices":3}
            """
        let lines = WakeUpText.lines(settings: try read(settings), counts: try read(counts))
        for line in [
            "wake-up        off", #"on Apple       alert ("News")"#,
            "to be told     changes of 2 paths, since 2026-12-01T12:00:00Z", "to be revoked  1 job",
            "notices        3 under way",
        ] { #expect(lines.contains(line), "\(lines)") }
    }

    @Test(
        "says in one sentence what a wake-up tells the app",
        arguments: [
            (#"{"t":"noData","app":"garden","sp":"/a"}"#, "something changed at /a; the app reads what it needs"),
            (#"{"s":"OK","t":"value","sp":"/a","d":"{\"b\":1}"}"#, #"/a is now {"b":1}"#),
            (
                #"{"s":"TooBig","t":"value","sp":"/a"}"#,
                "/a changed, and its value is too big for a push; the app reads it"
            ),
            (
                #"{"s":"OK","t":"childEvent","sp":"/a","added":"{\"b\":1}","removed":"[\"c\"]","changed":"{}"}"#,
                #"at /a, these were added: {"b":1}; these were removed: ["c"]"#
            ),
            (
                #"{"s":"OnlyKeys","t":"childEvent","sp":"/a","added":"{}","removed":"[]","changed":"{\"d\":true}"}"#,
                #"at /a, these were changed: {"d":true}"#
            ),
            (
                #"{"s":"TooBig","t":"childEvent","sp":"/","added":"{}","removed":"[]","changed":"{}"}"#,
                "children of / changed, too many for a push; the app reads them"
            ),
            (#"{"t":"revoke","r":"expired","sp":"/a"}"#, "the subscription to /a was revoked: expired"),
            (#"{"t":"other"}"#, #"an unknown wake-up: {"t":"other"}"#),
            (
                #"{"s":"OK","t":"value","sp":"/a","d":"\"\u001b[2J\""}"#,
                #"/a is now "\u{1b}[2J""#
            ),
        ])
    func sentence(data: String, sentence: String) throws {
        #expect(WakeUpText.sentence(of: try read(data)) == sentence)
    }
}
