import Basis
import Calendar
import Model
import ProviderInterface

/// Translates FCM's answer into a verdict. Bodies come from a stranger: whatever they hold, the status still counts.
package enum FCMResponse {
    /// An error has about 300 bytes, one with many field violations a few thousand. A longer one than this is not read
    /// at all.
    package static let bodyBytesMax = 8_192
    /// The size of the header `retry-after`: longer than any date.
    package static let retryAfterBytesMax = 64

    /// `retryAfter`: the value of that header, seconds or a date; empty if there was none.
    package static func classify(
        status: Int, body: Span<UInt8>, retryAfter: Span<UInt8>, now: WallInstant
    ) -> ProviderVerdict {
        // The common path: nothing to read.
        if (200..<300).contains(status) { return ProviderVerdict(outcome: .accepted, connection: .keep, alarm: nil) }
        guard (100..<600).contains(status) else {
            return ProviderVerdict(outcome: .unknown(.protocolViolation), connection: .close, alarm: nil)
        }
        let error = FCMErrorBody(reading: body)
        let known = knownRow(status, error)
        let row = known ?? FCMRejections.row(forHTTPStatus: status, isFromFCM: isUnknownCode(error))
        let reason = known?.reason ?? unknownReason(status, error)
        return ProviderVerdict(
            outcome: outcome(
                row, reason, wait(retryAfter, now) ?? error.retryDelay.flatMap { $0 <= RetryAfter.waitMax ? $0 : nil }),
            connection: row.connection, alarm: row.alarm, reason: reason, isDocumented: known != nil,
            complaint: blamesMessage(row) ? error.complaint : nil)
    }

    private static let name = Array(#""name""#.utf8)

    /// Whether the body of a 200 is whole and names the message, as `{"name": "projects/tower/messages/1"}` does. Every
    /// accepted push has such a body, so the JSON is not read.
    static func namesMessage(_ body: Span<UInt8>) -> Bool {
        var end = body.count
        while end > 0, body[end - 1] <= UInt8(ascii: " ") { end -= 1 }
        guard end > name.count, body[end - 1] == UInt8(ascii: "}") else { return false }
        var matched = 0
        for place in 0..<end {
            if body[place] != name[matched] { matched = 0 }
            if body[place] == name[matched] { matched += 1 }
            if matched == name.count { return true }
        }
        return false
    }

    private static func blamesMessage(_ row: FCMErrorRow) -> Bool {
        row.meaning == .rejected(.message) || row.meaning == .rejected(.ours)
    }

    /// All answers of the two tables, by unique names, for tests that hold for each of them.
    package static var documented: [String] {
        FCMRejections.codes.map { "FcmError " + $0.name } + FCMRejections.statuses.map(\.name)
    }

    private static func knownRow(_ status: Int, _ error: FCMErrorBody) -> FCMErrorRow? {
        if let code = error.errorCode, code != unspecified {
            return FCMRejections.codes.first { $0.reason == code && holds($0.condition, status, error) }
        }
        guard let reason = error.status else { return nil }
        return FCMRejections.statuses.first { $0.reason == reason && holds($0.condition, status, error) }
    }

    private static let unspecified = "UNSPECIFIED_ERROR"

    private static func isUnknownCode(_ error: FCMErrorBody) -> Bool {
        error.errorCode.map { $0 != unspecified } ?? false
    }

    private static func holds(_ condition: FCMErrorRow.Condition, _ status: Int, _ error: FCMErrorBody) -> Bool {
        switch condition {
        case .always: true
        case .httpStatus(let asked): status == asked
        case .deviceQuota: error.namesDeviceQuota
        // A named field is more precise than a sentence. If another field is named too, that one may be the cause.
        case .tokenIsSuspected:
            error.violatedFields.isEmpty
                ? error.reportsNoToken && error.errorCode != nil
                : error.violatedFields.allSatisfy { $0 == "message.token" }
        }
    }

    private static func outcome(_ row: FCMErrorRow, _ reason: String, _ asked: Duration?) -> Outcome {
        switch row.meaning {
        case .rejected(let fault): .rejected(Rejection(fault: fault, reason: reason))
        case .deferred(let why): .deferred(after: asked.map { max($0, FCMRejections.waitMin) } ?? row.after, why)
        }
    }

    static func wait(_ header: Span<UInt8>, _ now: WallInstant) -> Duration? {
        guard !header.isEmpty, header.count <= retryAfterBytesMax else { return nil }
        return RetryAfter.parse(String(decoding: header.copied(), as: UTF8.self), now: now)
    }

    /// Keeps a code that we do not know yet if it looks like one of Google's. Anything else might echo a token or
    /// payload.
    private static func unknownReason(_ status: Int, _ error: FCMErrorBody) -> String {
        if let code = error.errorCode, code != unspecified, isName(code) { return code }
        if let reason = error.status, isName(reason) { return reason }
        return "status_\(status)"
    }

    private static func isName(_ text: String) -> Bool {
        let reasonBytesMax = 48
        return (2...reasonBytesMax).contains(text.utf8.count) && text.utf8.first != UInt8(ascii: "_")
            && text.utf8.allSatisfy { $0.isCapital || $0 == UInt8(ascii: "_") }
    }
}
