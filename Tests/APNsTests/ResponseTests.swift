import APNs
import Basis
import Model
import TestSupport
import Testing

private func verdict(_ status: Int, _ body: String = "", retryAfter: Duration? = nil) -> ProviderVerdict {
    verdict(status, Array(body.utf8), retryAfter: retryAfter)
}

private func verdict(_ status: Int, _ body: [UInt8], retryAfter: Duration? = nil) -> ProviderVerdict {
    APNsResponse.classify(status: status, body: body.span, retryAfter: retryAfter)
}

private func fault(_ verdict: ProviderVerdict) -> RejectionFault? {
    if case .rejected(let rejection) = verdict.outcome { rejection.fault } else { nil }
}

@Suite("An answer of APNs")
struct ResponseTests {
    @Test(
        "sets the earliest time of the next attempt, in seconds",
        arguments: [
            (429, "TooManyProviderTokenUpdates", 60), (429, "TooManyRequests", 60), (429, "", 10),
            (500, "InternalServerError", 10), (503, "ServiceUnavailable", 10), (503, "Service Unavailable", 10),
            (502, "", 10), (503, "Shutdown", nil), (400, "IdleTimeout", nil), (408, "", nil),
            (403, "ExpiredProviderToken", nil), (403, "UnrelatedKeyIdInToken", nil), (403, "InvalidProviderToken", nil),
            (400, "TopicDisallowed", nil), (400, "MissingTopic", nil), (403, "", nil),
        ] as [(Int, String, Int64?)])
    func again(status: Int, reason: String, seconds: Int64?) {
        let body = reason.isEmpty ? "" : #"{"reason":"\#(reason)"}"#
        guard case .deferred(let after, _) = verdict(status, body).outcome else {
            Issue.record("\(status) \(reason) is not deferred")
            return
        }
        #expect(after == seconds.map { .seconds($0) })
        // Retry-After counts only if it is later.
        guard case .deferred(let asked, _) = verdict(status, body, retryAfter: .seconds(30)).outcome else { return }
        #expect(asked == .seconds(max(30, seconds ?? 30)))
    }

    @Test("raises an alarm for a bare status only if a person can mend the cause")
    func alarms() {
        for status in 200..<600 {
            let expected: ProviderAlarm? =
                switch status {
                case 401, 403, 407: .credential
                case 404, 405: .ourRequest
                default: nil
                }
            #expect(verdict(status).alarm == expected, "\(status)")
        }
    }

    @Test("accepts the push at status 200, whatever its body")
    func accepted() {
        #expect(verdict(200).outcome == .accepted)
        #expect(verdict(200, #"{"reason":"BadDeviceToken"}"#).outcome == .accepted)
    }

    @Test("tells since when a token is unregistered, in milliseconds")
    func timestamp() {
        let expected = Outcome.rejected(
            Rejection(
                fault: .tokenUnregistered, reason: "Unregistered",
                invalidSince: WallInstant(microseconds: 1_700_000_000_123_000)))
        #expect(verdict(410, #"{"reason":"Unregistered","timestamp":1700000000123}"#).outcome == expected)
        #expect(
            verdict(410, #" { "timestamp" : 1700000000123 , "x":{"reason":"no"} , "reason" : "Unregistered" } "#)
                .outcome == expected)
        // A time beside any other refusal does not concern the token.
        #expect(
            verdict(400, #"{"reason":"BadDeviceToken","timestamp":1700000000123}"#).outcome
                == .rejected(Rejection(fault: .tokenUnknownHere, reason: "BadDeviceToken")))
    }

    @Test(
        "counts a timestamp of 1970 or earlier as older than any registration",
        arguments: ["0", "-5", "-999999999999999"])
    func longAgo(time: String) {
        let expected = Outcome.rejected(
            Rejection(
                fault: .tokenUnregistered, reason: "Unregistered", invalidSince: WallInstant(microseconds: 0)))
        #expect(verdict(410, #"{"reason":"Unregistered","timestamp":\#(time)}"#).outcome == expected)
        #expect(verdict(410, #"{"timestamp":\#t\#(time)\#n,"reason":"Unregistered"}"#).outcome == expected)
    }

    @Test(
        "only suspects the token if the timestamp can't be read",
        arguments: [
            #""x""#, #""1700000000123""#, "null", "true", "[1]", "{}", "-0", "1.5e12", "1e300", "1E300", "-1e300",
            "1700000000123.5", "99999999999999999999", "-99999999999999999999", "1000000000000000",
        ],
        ["Unregistered", "ExpiredToken", "InventedTomorrow"])
    func unreadableTime(time: String, reason: String) {
        let expected = Outcome.rejected(Rejection(fault: .tokenSuspect, reason: reason))
        #expect(verdict(410, #"{"reason":"\#(reason)","timestamp":\#(time)}"#).outcome == expected)
    }

    @Test(
        "only suspects the token if the body is not JSON",
        arguments: ["", "-", "+5", "--5", "1700000000123x", "1700000000123 5"])
    func noJSON(time: String) {
        let expected = Outcome.rejected(Rejection(fault: .tokenSuspect, reason: "status_410"))
        #expect(verdict(410, #"{"reason":"Unregistered","timestamp":\#(time)}"#).outcome == expected)
    }

    @Test("only suspects the token if the body is cut inside the timestamp", arguments: 37...50)
    func cutTime(count: Int) {
        let whole = Array(#"{"reason":"Unregistered","timestamp":1700000000123}"#.utf8)
        #expect(fault(verdict(410, Array(whole[..<count]))) == .tokenSuspect)
    }

    @Test(
        "retires the token if the reason says so and no timestamp is given",
        arguments: ["Unregistered", "ExpiredToken"])
    func noTime(reason: String) {
        #expect(
            verdict(410, #"{"reason":"\#(reason)"}"#).outcome
                == .rejected(Rejection(fault: .tokenUnregistered, reason: reason)))
    }

    @Test(
        "falls back to the meaning of its status if the reason is unknown",
        arguments: [
            (400, "message"), (401, "credentialRefused"), (403, "credentialRefused"), (404, "ours"), (405, "ours"),
            (410, "tokenUnregistered"), (413, "message"), (418, "message"), (429, "laneThrottled"),
            (500, "providerBusy"),
            (502, "providerBusy"), (503, "providerUnavailable"), (599, "providerBusy"), (302, "providerBusy"),
        ])
    func unknownReason(status: Int, meaning: String) {
        switch verdict(status, #"{"reason":"InventedTomorrow"}"#).outcome {
        case .rejected(let rejection):
            #expect("\(rejection.fault)" == meaning)
            #expect(rejection.reason == "InventedTomorrow")
        case .deferred(_, let why): #expect("\(why)" == meaning)
        case .accepted, .unsent, .unknown, .withheld: Issue.record("the answer got no verdict")
        }
    }

    @Test("retires a token only if it is a 410 with a reason")
    func retiresOnlyOn410() {
        #expect(fault(verdict(400, #"{"reason":"Unregistered","timestamp":1700000000123}"#)) == .tokenSuspect)
        #expect(fault(verdict(410, "")) == .tokenSuspect)
        #expect(fault(verdict(410, "<html>Gone</html>")) == .tokenSuspect)
        #expect(fault(verdict(410, #"{"reason":"BadDeviceToken"}"#)) == .tokenUnknownHere)
        #expect(verdict(410, #"{"reason":"TopicDisallowed"}"#).outcome == .deferred(after: nil, .credentialRefused))
        for status in 300..<600 where status != 410 {
            for reason in ["Unregistered", "ExpiredToken", "Whatever", ""] {
                #expect(fault(verdict(status, #"{"reason":"\#(reason)"}"#)) != .tokenUnregistered)
            }
        }
    }

    @Test(
        "keeps no reason that may echo a secret",
        arguments: [
            "0123456789abcdef", "a1", "Bad\\u0031", "Bad-Token", "Wort mit ä", "", String(repeating: "a", count: 49),
        ])
    func unsafeReasons(reason: String) {
        guard case .rejected(let rejection) = verdict(400, #"{"reason":"\#(reason)"}"#).outcome else {
            Issue.record("the push was not rejected")
            return
        }
        #expect(rejection.reason == "status_400")
    }

    @Test("counts as a protocol violation if HTTP has no such status", arguments: [-1, 0, 99, 600, 1_000])
    func noStatus(status: Int) {
        #expect(verdict(status).outcome == .unknown(.protocolViolation))
        #expect(verdict(status).connection == .close)
    }

    @Test("defers the push by the longer of our minimum and Retry-After")
    func retryAfter() {
        let busy = #"{"reason":"ServiceUnavailable"}"#
        #expect(verdict(503, busy).outcome == .deferred(after: .seconds(10), .providerUnavailable))
        for (asked, seconds) in [(Int64(1), Int64(10)), (90, 90)] {
            #expect(
                verdict(503, busy, retryAfter: .seconds(asked)).outcome
                    == .deferred(after: .seconds(seconds), .providerUnavailable))
        }
        #expect(verdict(503, #"{"reason":"Shutdown"}"#).outcome == .deferred(after: nil, .providerBusy))
        #expect(
            verdict(503, #"{"reason":"Shutdown"}"#, retryAfter: .seconds(5)).outcome
                == .deferred(after: .seconds(5), .providerBusy))
    }

    @Test("falls back to the meaning of its status if the body is noise", arguments: 1...40 as ClosedRange<UInt64>)
    func noise(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let letters = Array(#"{}[]:,"\ reasontimestamp0123456789.eE-"#.utf8) + [0, 0xff]
        for _ in 0..<500 {
            let body = (0..<Int.random(in: 0...80, using: &generator)).map { _ in
                letters[Int.random(in: 0..<letters.count, using: &generator)]
            }
            let status = Int.random(in: 300...599, using: &generator)
            if status != 410 { #expect(fault(verdict(status, body)) != .tokenUnregistered) }
        }
    }

    @Test("falls back to the meaning of its status if the body is cut before its end")
    func truncated() {
        let whole = Array(#"{"timestamp":1700000000123,"a":["x\"]"],"reason":"BadDeviceToken"}"#.utf8)
        for count in 0...whole.count {
            let expected = count < whole.count ? RejectionFault.message : .tokenUnknownHere
            #expect(fault(verdict(400, Array(whole[..<count]))) == expected)
        }
    }
}
