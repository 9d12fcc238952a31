import CommandLine
import JSON
import Testing

@Suite("The history of a push in a terminal")
struct PushTextTests {
    private func lines(_ pushHistory: String) throws -> [String] {
        PushText(try JSONReader.read(Array(pushHistory.utf8))).lines
    }

    @Test("shows every step in words, with provider, attempt and reason")
    func steps() throws {
        let reported = try lines(
            """
            {"message":"m","installation":"phone-1","kind":"alert","state":"unregistered","reason":"Unregistered",
             "push_id":"e0","steps":[
             {"at":"12:00:00Z","step":"message_accepted"},
             {"at":"12:00:01Z","step":"goes_on","reason":"other_environment","parcel":"9","provider":"apns",
              "environment":"production","topic":"com.example.garden","attempts":1},
             {"at":"12:00:02Z","step":"unregistered","reason":"Unregistered","parcel":"10","provider":"apns",
              "environment":"sandbox","topic":"","attempts":2}]}
            """)
        #expect(
            reported == [
                "phone-1 (alert)  unregistered: Unregistered", "  12:00:00Z  the gateway accepted the message",
                "  12:00:01Z  will be retried at apns (production, com.example.garden): other_environment",
                "  12:00:02Z  unregistered at apns (sandbox), attempt 2: Unregistered", "push id e0",
            ])
    }

    @Test("says why the gateway did not send, in place of a provider and a code")
    func withheld() throws {
        let reported = try lines(
            """
            {"installation":"p","kind":"alert","state":"cancelled","reason":"cancelled","steps":[
             {"at":"12:00:00Z","step":"goes_on","reason":"ServiceUnavailable","provider":"apns",
              "environment":"production","topic":"com.example.garden","attempts":1},
             {"at":"12:00:01Z","step":"cancelled","reason":"cancelled","provider":"apns","environment":"production",
              "topic":"com.example.garden","attempts":1}]}
            """)
        #expect(reported.first == "p (alert)  not sent: the message was cancelled")
        #expect(reported.last == "  12:00:01Z  not sent: the message was cancelled")
        for (state, reason, words) in [
            ("expired", "expired", "the message expired"), ("suppressed", "daily_cap", "daily cap"),
            ("suppressed", "nothing_to_show", "no visible text is left for the device"),
            ("rejected", "unknown_user", "has no device"),
        ] {
            let line = try lines(
                #"{"installation":"p","kind":"alert","state":"\#(state)","reason":"\#(reason)","steps":[]}"#)[0]
            #expect(line.hasPrefix("p (alert)  not sent: ") && line.hasSuffix(words), "\(line)")
        }
    }

    @Test("shows the state before the steps, and escapes control characters in a reason")
    func statuses() throws {
        func first(_ members: String) throws -> String? {
            try lines(#"{"installation":"p","kind":"alert",\#(members),"steps":[]}"#).first
        }
        let other = try first(#""state":"not_in_audience","reason":null"#)
        #expect(other == "p (alert)  the device is not in the audience")
        #expect(
            try first(
                #""state":"waiting","reason":"ServiceUnavailable","provider":"fcm","environment":"production","topic":"","due_at":"12:01:00Z""#
            ) == "p (alert)  waiting at fcm (production): ServiceUnavailable, next attempt at 12:01:00Z")
        #expect(
            try first(#""state":"rejected","reason":"INVALID_ARGUMENT","detail":"message.data""#)
                == "p (alert)  rejected: INVALID_ARGUMENT (message.data)")
        #expect(try first(#""state":"rejected","reason":"a\u000ab""#) == #"p (alert)  rejected: a\u{a}b"#)
    }
}
