import Basis
import FCM
import Model
import TestSupport
import Testing

private let now = WallInstant(secondsSince1970: 1_796_126_400)

private func verdict(_ status: Int, _ body: [UInt8], retryAfter: String = "") -> ProviderVerdict {
    FCMResponse.classify(status: status, body: body.span, retryAfter: Array(retryAfter.utf8).span, now: now)
}

private func verdict(_ status: Int, _ body: String = "", retryAfter: String = "") -> ProviderVerdict {
    verdict(status, Array(body.utf8), retryAfter: retryAfter)
}

/// An answer in Google's form: `code` as FcmError, the others as further details.
private func answer(
    _ status: Int, _ rpcStatus: String, code: String? = nil, text: String = "Requested entity was not found.",
    details: [String] = []
) -> String {
    let type = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
    let own = code.map { [#"{"@type":"\#(type)","errorCode":"\#($0)"}"#] } ?? []
    let all = (own + details).joined(separator: ",")
    return #"{"error":{"code":\#(status),"message":"\#(text)","status":"\#(rpcStatus)","details":[\#(all)]}}"#
}

private func violation(_ fields: String...) -> String {
    let list = fields.map { #"{"field":"\#($0)","description":"Invalid value"}"# }.joined(separator: ",")
    return #"{"@type":"type.googleapis.com/google.rpc.BadRequest","fieldViolations":[\#(list)]}"#
}

private func quota(subject: String? = nil, description: String = "") -> String {
    let who = subject.map { #""subject":"\#($0)","# } ?? ""
    return
        #"{"@type":"type.googleapis.com/google.rpc.QuotaFailure","violations":[{\#(who)"description":"\#(description)"}]}"#
}

private func fault(_ verdict: ProviderVerdict) -> RejectionFault? {
    if case .rejected(let rejection) = verdict.outcome { rejection.fault } else { nil }
}

private let badTokenText = "The registration token is not a valid FCM registration token"

@Suite("An answer of FCM")
struct ResponseTests {
    /// The meaning of one documented answer.
    struct Row: Sendable, CustomTestStringConvertible {
        let status: Int
        let rpcStatus: String
        var code: String?
        var text = "Requested entity was not found."
        var details: [String] = []
        let outcome: Outcome
        let reason: String
        var connection = ConnectionAdvice.keep
        var alarm: ProviderAlarm?
        var testDescription: String { "\(status) \(rpcStatus) \(code ?? "-")" }

        static func refused(
            _ status: Int, _ rpcStatus: String, _ code: String?, _ fault: RejectionFault, text: String = "No.",
            details: [String] = [], alarm: ProviderAlarm? = nil
        ) -> Row {
            let reason = code ?? rpcStatus
            return Row(
                status: status, rpcStatus: rpcStatus, code: code, text: text, details: details,
                outcome: .rejected(Rejection(fault: fault, reason: reason)), reason: reason, alarm: alarm)
        }

        static func waits(
            _ status: Int, _ rpcStatus: String, _ code: String?, _ why: DeferralReason, seconds: Int64? = nil,
            details: [String] = [], connection: ConnectionAdvice = .keep, alarm: ProviderAlarm? = nil
        ) -> Row {
            Row(
                status: status, rpcStatus: rpcStatus, code: code, details: details,
                outcome: .deferred(after: seconds.map { .seconds($0) }, why), reason: code ?? rpcStatus,
                connection: connection, alarm: alarm)
        }
    }

    static let documented: [Row] = [
        // With an FcmError detail.
        .refused(404, "NOT_FOUND", "UNREGISTERED", .tokenUnregistered),
        .refused(403, "PERMISSION_DENIED", "SENDER_ID_MISMATCH", .tokenElsewhere),
        .refused(400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", .tokenSuspect, text: badTokenText),
        .refused(
            400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", .tokenSuspect, details: [violation("message.token")]),
        .refused(
            400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", .message, details: [violation("message.android.ttl")]),
        .refused(
            400, "INVALID_ARGUMENT", "INVALID_ARGUMENT", .message, text: "Android message is too big", details: []),
        .waits(429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", .laneThrottled, seconds: 60),
        .waits(
            429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", .laneThrottled, seconds: 60,
            details: [quota(subject: "project:device-farm")]),
        .waits(
            429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", .laneThrottled, seconds: 60,
            details: [quota(description: "Topic message rate")]),
        .waits(
            429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", .deviceThrottled, seconds: 60,
            details: [quota(subject: "device:a")]),
        .waits(
            429, "RESOURCE_EXHAUSTED", "QUOTA_EXCEEDED", .deviceThrottled, seconds: 60,
            details: [quota(description: "Device message rate")]),
        .waits(503, "UNAVAILABLE", "UNAVAILABLE", .providerUnavailable, seconds: 10),
        .waits(500, "INTERNAL", "INTERNAL", .providerBusy, seconds: 10),
        .refused(401, "UNAUTHENTICATED", "THIRD_PARTY_AUTH_ERROR", .message, alarm: .credential),
        .refused(401, "UNAUTHENTICATED", "APNS_AUTH_ERROR", .message, alarm: .credential),
        // Without an FcmError detail: the answer comes from Google's front end.
        .waits(401, "UNAUTHENTICATED", nil, .providerTokenExpired),
        .waits(403, "PERMISSION_DENIED", nil, .credentialRefused, connection: .close, alarm: .credential),
        .waits(404, "NOT_FOUND", nil, .credentialRefused, alarm: .credential),
        .refused(400, "INVALID_ARGUMENT", nil, .message, details: [violation("message.android.ttl")]),
        .refused(400, "INVALID_ARGUMENT", nil, .tokenSuspect, details: [violation("message.token")]),
        .refused(400, "INVALID_ARGUMENT", nil, .message, text: badTokenText),
        .refused(400, "OUT_OF_RANGE", nil, .message),
        .waits(429, "RESOURCE_EXHAUSTED", nil, .laneThrottled, seconds: 60),
        .waits(
            429, "RESOURCE_EXHAUSTED", nil, .deviceThrottled, seconds: 60, details: [quota(subject: "device:a")]),
        .waits(503, "UNAVAILABLE", nil, .providerUnavailable, seconds: 10),
        .waits(500, "INTERNAL", nil, .providerBusy, seconds: 10),
        .waits(500, "UNKNOWN", nil, .providerBusy, seconds: 10),
        .waits(500, "DATA_LOSS", nil, .providerBusy, seconds: 10),
        .waits(504, "DEADLINE_EXCEEDED", nil, .providerBusy, seconds: 10),
        .waits(409, "ABORTED", nil, .providerBusy, seconds: 10),
        .waits(499, "CANCELLED", nil, .providerBusy, seconds: 10),
        .refused(501, "UNIMPLEMENTED", nil, .ours, alarm: .ourRequest),
    ]

    @Test(
        "passes on the field that is wrong, and why, but no value of the payload",
        arguments: [
            (
                "message", "Invalid JSON payload received. Unknown name \\\"content_available\\\" at 'message'",
                "message: unknown name content_available"
            ),
            ("message.android.ttl", "Illegal duration format: secret", "message.android.ttl"),
            (
                "message.data[0].value", "Invalid value at 'message.data[0].value' (TYPE_STRING), 4711",
                "message.data[0].value: invalid value at message.data[0].value (TYPE_STRING)"
            ),
            ("message.data[a b]", "Unknown name \\\"a b\\\"", nil),
            ("", "Unknown name \\\"to\\\": Cannot find field.", "unknown name to"),
        ] as [(String, String, String?)])
    func complaint(field: String, description: String, told: String?) {
        let type = "type.googleapis.com/google.rpc.BadRequest"
        let detail =
            #"{"@type":"\#(type)","fieldViolations":[{"field":"\#(field)","description":"\#(description)"}]}"#
        let refused = verdict(400, answer(400, "INVALID_ARGUMENT", text: "No.", details: [detail]))
        #expect(fault(refused) == .message && refused.complaint == told)
        let aboutToken = verdict(
            400, answer(400, "INVALID_ARGUMENT", code: "INVALID_ARGUMENT", details: [violation("message.token")]))
        #expect(aboutToken.complaint == nil, "a token is no fault of the message")
    }

    @Test("means what the table of documented answers says", arguments: documented)
    func table(row: Row) {
        let body = answer(row.status, row.rpcStatus, code: row.code, text: row.text, details: row.details)
        let verdict = verdict(row.status, body)
        #expect(verdict.outcome == row.outcome)
        #expect(verdict.reason == row.reason)
        #expect(verdict.connection == row.connection)
        #expect(verdict.alarm == row.alarm)
        #expect(verdict.isDocumented)
    }

    @Test("takes its error code from the first detail of the right type, in any order")
    func orderOfDetails() {
        let body = answer(404, "NOT_FOUND", code: "UNREGISTERED", details: [violation("message.token")])
        #expect(fault(verdict(404, body)) == .tokenUnregistered)
        let other = #"{"@type":"type.googleapis.com/google.firebase.fcm.v1.ApnsError","statusCode":410}"#
        let late = """
             {"x":[1],"error":{"details":[\(other),3,{"@type":7},{"errorCode":"UNREGISTERED","@type":
            "type.googleapis.com/google.firebase.fcm.v1.FcmError"}],"status":"NOT_FOUND"}}
            """
        #expect(fault(verdict(404, late)) == .tokenUnregistered)
        // The detail's type counts, not its member.
        let disguised = #"{"@type":"type.googleapis.com/google.rpc.ErrorInfo","errorCode":"UNREGISTERED"}"#
        #expect(
            verdict(404, answer(404, "NOT_FOUND", details: [disguised])).outcome
                == .deferred(after: nil, .credentialRefused))
    }

    @Test("retires a token only if it is a 404 in which FCM says UNREGISTERED")
    func retiresOnlyOn404() {
        #expect(fault(verdict(400, answer(400, "INVALID_ARGUMENT", code: "UNREGISTERED"))) == .tokenSuspect)
        #expect(fault(verdict(410, answer(410, "NOT_FOUND", code: "UNREGISTERED"))) == .tokenSuspect)
        for status in 300..<600 {
            for code in ["UNREGISTERED", "SENDER_ID_MISMATCH", "INVALID_ARGUMENT", "TOKEN_GONE", nil] {
                let body = answer(status, "NOT_FOUND", code: code, text: badTokenText)
                let isSure = status == 404 && code == "UNREGISTERED"
                #expect((fault(verdict(status, body)) == .tokenUnregistered) == isSure)
            }
        }
    }

    @Test(
        "defers the push at a 404 without FCM's own error code",
        arguments: [
            answer(404, "NOT_FOUND"), answer(404, "NOT_FOUND", code: "UNSPECIFIED_ERROR"), "",
            "<!DOCTYPE html><html><title>Error 404 (Not Found)!!1</title></html>", "UNREGISTERED",
            #"{"error":"UNREGISTERED"}"#, #"{"error":{"status":"UNREGISTERED","errorCode":"UNREGISTERED"}}"#,
            #"{"errorCode":"UNREGISTERED"}"#, "[]", "null",
            answer(404, "NOT_FOUND", code: "UNREGISTERED") + "x",
        ])
    func notFound(body: String) {
        let verdict = verdict(404, body)
        #expect(verdict.outcome == .deferred(after: nil, .credentialRefused))
        #expect(verdict.alarm == .credential)
        #expect(verdict.connection == .keep)
    }

    @Test("never suspects the token for an error of the payload, whatever it quotes")
    func payloadErrors() {
        let texts = [
            "Invalid value at 'message.data[0].value' (TYPE_STRING), \\\"The registration token is not a valid FCM\\\"",
            "Request contains an invalid argument.", "Message is too big", "",
        ]
        for text in texts {
            let body = answer(400, "INVALID_ARGUMENT", code: "INVALID_ARGUMENT", text: text)
            #expect(fault(verdict(400, body)) == .message)
        }
        // With two wrong fields, the other one may be the cause.
        let both = [violation("message.token", "message.data")]
        #expect(
            fault(verdict(400, answer(400, "INVALID_ARGUMENT", code: "INVALID_ARGUMENT", details: both))) == .message)
        // A named field takes precedence over the text.
        let other = [violation("message.topic")]
        #expect(
            fault(
                verdict(
                    400, answer(400, "INVALID_ARGUMENT", code: "INVALID_ARGUMENT", text: badTokenText, details: other)))
                == .message)
    }

    @Test(
        "falls back to the meaning of its status without a body or with a web page",
        arguments: [
            (400, "message", nil, nil), (401, "providerTokenExpired", nil, nil),
            (403, "credentialRefused", nil, .credential), (404, "credentialRefused", nil, .credential),
            (405, "ours", nil, .ourRequest), (407, "credentialRefused", nil, .credential),
            (408, "providerBusy", 10, nil), (411, "ours", nil, .ourRequest), (413, "message", nil, nil),
            (414, "ours", nil, .ourRequest), (418, "message", nil, nil), (425, "providerBusy", 10, nil),
            (429, "laneThrottled", 60, nil), (431, "ours", nil, .ourRequest), (499, "providerBusy", 10, nil),
            (500, "providerBusy", 10, nil), (502, "providerBusy", 10, nil), (503, "providerUnavailable", 10, nil),
            (599, "providerBusy", 10, nil), (302, "providerBusy", 10, nil), (103, "providerBusy", 10, nil),
        ] as [(Int, String, Int64?, ProviderAlarm?)])
    func unparsedBody(status: Int, meaning: String, seconds: Int64?, alarm: ProviderAlarm?) {
        for body in ["", "<html>Service Unavailable</html>", "{\"error\":{\"code\":\(status)"] {
            let verdict = verdict(status, body)
            switch verdict.outcome {
            case .rejected(let rejection):
                #expect("\(rejection.fault)" == meaning)
                #expect(seconds == nil)
            case .deferred(let after, let why):
                #expect("\(why)" == meaning)
                #expect(after == seconds.map { .seconds($0) })
            case .accepted, .unsent, .unknown, .withheld: Issue.record("the answer got no verdict")
            }
            #expect(verdict.alarm == alarm)
            #expect(verdict.reason == "status_\(status)")
            #expect(!verdict.isDocumented)
            #expect((verdict.connection == .close) == (status == 403 || status == 407))
        }
    }

    @Test(
        "concerns only the push, not its token or lane, if FCM's error code is unknown",
        arguments: [
            (400, "message"), (401, "message"), (403, "message"), (404, "message"), (409, "message"),
            (429, "laneThrottled"), (500, "providerBusy"), (503, "providerUnavailable"),
        ])
    func unknownCode(status: Int, meaning: String) {
        let verdict = verdict(status, answer(status, "PERMISSION_DENIED", code: "INVENTED_TOMORROW"))
        switch verdict.outcome {
        case .rejected(let rejection): #expect("\(rejection.fault)" == meaning)
        case .deferred(_, let why): #expect("\(why)" == meaning)
        case .accepted, .unsent, .unknown, .withheld: Issue.record("the answer got no verdict")
        }
        #expect(verdict.reason == "INVENTED_TOMORROW")
        #expect(!verdict.isDocumented)
        #expect(verdict.connection == .keep)
    }

    @Test(
        "keeps no reason that may echo a secret",
        arguments: [
            "fcm-token:APA91bx", "Bad", "A1", "_A", "A", "", "SENDER ID", "ABC-DEF", String(repeating: "A", count: 49),
        ])
    func unsafeReasons(code: String) {
        #expect(verdict(400, answer(400, "ALSO-NONE", code: code)).reason == "status_400")
        #expect(verdict(400, answer(400, "SOME_STATUS", code: code)).reason == "SOME_STATUS")
    }

    @Test("accepts the push at status 200, whatever its body")
    func accepted() {
        #expect(verdict(200, #"{"name":"projects/p/messages/0:1500415314455276%31bd1c96"}"#).outcome == .accepted)
        #expect(verdict(200, answer(404, "NOT_FOUND", code: "UNREGISTERED")).outcome == .accepted)
        #expect(verdict(200).alarm == nil)
    }

    @Test("counts as a protocol violation if HTTP has no such status", arguments: [-1, 0, 99, 600, 1_000])
    func noStatus(status: Int) {
        #expect(verdict(status).outcome == .unknown(.protocolViolation))
        #expect(verdict(status).connection == .close)
    }

    @Test(
        "defers the push as long as Retry-After says, or else as Google recommends",
        arguments: [
            ("", 10), ("3", 3), ("90", 90), ("0", 1), ("99999999999999999999", 10),
            ("Tue, 01 Dec 2026 12:00:45 GMT", 45), ("Tue, 01 Dec 2026 11:00:00 GMT", 10),
            ("-5", 10), ("soon", 10), ("1.5", 10), (String(repeating: "1", count: 65), 10),
        ] as [(String, Int64)])
    func retryAfter(header: String, seconds: Int64) {
        let body = answer(503, "UNAVAILABLE", code: "UNAVAILABLE")
        #expect(
            verdict(503, body, retryAfter: header).outcome
                == .deferred(after: .seconds(seconds), .providerUnavailable))
        #expect(
            verdict(429, "", retryAfter: header).outcome
                == .deferred(after: .seconds(seconds == 10 ? 60 : seconds), .laneThrottled))
    }

    @Test("may give its delay in the body, and the Retry-After header takes precedence")
    func retryInfo() {
        func body(_ delay: String) -> String {
            let detail = #"{"@type":"type.googleapis.com/google.rpc.RetryInfo","retryDelay":"\#(delay)"}"#
            return answer(429, "RESOURCE_EXHAUSTED", code: "QUOTA_EXCEEDED", details: [detail])
        }
        func after(_ verdict: ProviderVerdict) -> Duration? {
            if case .deferred(let after, _) = verdict.outcome { after } else { nil }
        }
        #expect(after(verdict(429, body("30s"))) == .seconds(30))
        #expect(after(verdict(429, body("2.500s"))) == .milliseconds(2_500))
        #expect(after(verdict(429, body("9999999999s"))) == .seconds(60))
        #expect(after(verdict(429, body("-3s"))) == .seconds(60))
        #expect(after(verdict(429, body("30s"), retryAfter: "7")) == .seconds(7))
    }
}

@Suite("A hostile answer in the name of FCM")
struct HostileResponseTests {
    @Test("never retires a token if the body is noise", arguments: 1...40 as ClosedRange<UInt64>)
    func noise(seed: UInt64) {
        var generator = SeededGenerator(seed: seed)
        let letters = Array(#"{}[]:,"\ errordetails@typeUNREGISTERED0123456789.-"#.utf8) + [0, 0xff]
        for _ in 0..<300 {
            let body = (0..<Int.random(in: 0...120, using: &generator)).map { _ in
                letters[Int.random(in: 0..<letters.count, using: &generator)]
            }
            let status = Int.random(in: 300...599, using: &generator)
            let header = String(decoding: body.prefix(20), as: UTF8.self)
            #expect(fault(verdict(status, body, retryAfter: header)) != .tokenUnregistered)
        }
    }

    @Test("retires a token after changed bytes only if it still says UNREGISTERED", arguments: 1...20)
    func mutated(seed: Int) {
        var generator = SeededGenerator(seed: UInt64(seed))
        let whole = Array(answer(404, "NOT_FOUND", code: "UNREGISTERED", details: [violation("message.token")]).utf8)
        let agrees = Array(#""errorCode":"UNREGISTERED""#.utf8)
        for _ in 0..<300 {
            var body = whole
            for _ in 0...Int.random(in: 0...3, using: &generator) {
                let place = Int.random(in: 0..<body.count, using: &generator)
                switch Int.random(in: 0..<3, using: &generator) {
                case 0: body[place] = UInt8.random(in: 0...255, using: &generator)
                case 1: body.remove(at: place)
                default: body.insert(UInt8.random(in: 0...255, using: &generator), at: place)
                }
            }
            let stillReports = body.indices.contains { body[$0...].starts(with: agrees) }
            if fault(verdict(404, body)) == .tokenUnregistered { #expect(stillReports) }
        }
    }

    @Test("retires no token if it is cut at any byte")
    func truncated() {
        let whole = Array(answer(404, "NOT_FOUND", code: "UNREGISTERED").utf8)
        for count in 0..<whole.count { #expect(fault(verdict(404, Array(whole[..<count]))) == nil) }
        #expect(fault(verdict(404, whole)) == .tokenUnregistered)
    }

    @Test("stays unread if it is larger or deeper than any answer of FCM")
    func bounded() {
        func padded(_ count: Int) -> String {
            answer(404, "NOT_FOUND", code: "UNREGISTERED", text: String(repeating: "x", count: count))
        }
        let room = FCMResponse.bodyBytesMax - padded(0).utf8.count
        #expect(fault(verdict(404, padded(room))) == .tokenUnregistered)
        #expect(fault(verdict(404, padded(room + 1))) == nil)
        let deep = String(repeating: "[", count: 4_000) + String(repeating: "]", count: 4_000)
        #expect(verdict(404, deep).outcome == .deferred(after: nil, .credentialRefused))
    }
}
