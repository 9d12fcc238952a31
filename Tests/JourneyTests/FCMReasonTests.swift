import FCM
import Simulator
import Testing

extension Journeys {
    @Suite("Each documented FCM error")
    struct FCMReasonTests {
        /// The rows are in the order of the tables: with an FcmError, and without.
        private static let rows: [ReasonRow] = [
            .about("UNREGISTERED", "FcmError UNREGISTERED with 404", .ends("unregistered", verdict: "retired")),
            .scripted(400, "INVALID_ARGUMENT", code: "UNREGISTERED", .ends("rejected", verdict: "suspected")),
            .about("SENDER_ID_MISMATCH", "FcmError SENDER_ID_MISMATCH", .ends("rejected", verdict: "suspected")),
            .about(
                "INVALID_TOKEN", "FcmError INVALID_ARGUMENT about the token", .ends("rejected", verdict: "suspected")),
            .about(
                "INVALID_TOKEN_FIELD", "FcmError INVALID_ARGUMENT about the token",
                .ends("rejected", verdict: "suspected")),
            .about("MESSAGE_TOO_BIG", "FcmError INVALID_ARGUMENT", .ends("rejected")),
            .about("INVALID_TTL", "FcmError INVALID_ARGUMENT", .ends("rejected")),
            .about("THIRD_PARTY_AUTH_ERROR", "FcmError THIRD_PARTY_AUTH_ERROR", .ends("rejected")),
            .about("APNS_AUTH_ERROR", "FcmError APNS_AUTH_ERROR", .ends("rejected")),
            .about(
                "QUOTA_EXCEEDED_DEVICE", "FcmError QUOTA_EXCEEDED about the device",
                .comesAgain("device_throttled", after: 60)),
            .alone("QUOTA_EXCEEDED", "FcmError QUOTA_EXCEEDED", .comesAgain("provider_throttled", after: 60)),
            .alone("QUOTA_EXCEEDED_PROJECT", "FcmError QUOTA_EXCEEDED", .comesAgain("provider_throttled", after: 60)),
            .alone("QUOTA_EXCEEDED_TOPIC", "FcmError QUOTA_EXCEEDED", .comesAgain("provider_throttled", after: 60)),
            .about("UNAVAILABLE", "FcmError UNAVAILABLE", .comesAgain("provider_busy", after: 10)),
            .about("INTERNAL", "FcmError INTERNAL", .comesAgain("provider_busy", after: 10)),

            .scripted(
                400, "INVALID_ARGUMENT", detail: .badToken, name: "INVALID_ARGUMENT about the token",
                .ends("rejected", verdict: "suspected")),
            .about("INVALID_PAYLOAD", "INVALID_ARGUMENT", .ends("rejected")),
            .scripted(400, "OUT_OF_RANGE", .ends("rejected")),
            .alone("UNAUTHENTICATED", "UNAUTHENTICATED", .comesAgain("provider_token_expired", after: 1)),
            // An account that nobody has ever sent with may have no role, and its project may not exist. If others are
            // accepted, the push is at fault.
            .alone("PERMISSION_DENIED", "PERMISSION_DENIED", .refused, beside: .nobody),
            .about("PERMISSION_DENIED", "PERMISSION_DENIED", .comesAgain("provider_busy", after: 60)),
            .alone("NOT_FOUND", "NOT_FOUND", .refused, beside: .nobody),
            .about("NOT_FOUND", "NOT_FOUND", .comesAgain("provider_busy", after: 60)),
            .scripted(
                429, "RESOURCE_EXHAUSTED", detail: .deviceQuota, name: "RESOURCE_EXHAUSTED about the device",
                .comesAgain("device_throttled", after: 60)),
            .scripted(429, "RESOURCE_EXHAUSTED", .comesAgain("provider_throttled", after: 60)),
            .scripted(503, "UNAVAILABLE", .comesAgain("provider_busy", after: 10)),
            .scripted(500, "INTERNAL", .comesAgain("provider_busy", after: 10)),
            .scripted(504, "DEADLINE_EXCEEDED", .comesAgain("provider_busy", after: 10)),
            .scripted(500, "UNKNOWN", .comesAgain("provider_busy", after: 10)),
            .scripted(500, "DATA_LOSS", .comesAgain("provider_busy", after: 10)),
            .scripted(409, "ABORTED", .comesAgain("provider_busy", after: 10)),
            .scripted(499, "CANCELLED", .comesAgain("provider_busy", after: 10)),
            .scripted(501, "UNIMPLEMENTED", .ends("rejected")),
        ]

        /// Errors that Google may add, its unspecific code, and pages of servers in between.
        private static let undocumented: [ReasonRow] = [
            .odd("UNKNOWN_CODE_400", "CODE_OF_TOMORROW", .ends("rejected")),
            .odd("UNKNOWN_CODE_503", "CODE_OF_TOMORROW", .comesAgain("provider_busy", after: 10)),
            .odd("UNSPECIFIED_ERROR_500", "UNKNOWN", .comesAgain("provider_busy", after: 10)),
            .odd("HTML_404", "status_404", .refused, beside: .nobody),
            .odd("HTML_429", "status_429", .comesAgain("provider_throttled", after: 60), beside: .healthy),
            .odd("HTML_502", "status_502", .comesAgain("provider_busy", after: 10)),
            .odd("EMPTY_500", "status_500", .comesAgain("provider_busy", after: 10)),
            // Google's own Retry-After, shorter and longer than its documented default.
            .odd(
                "QUOTA_EXCEEDED_SECONDS", "QUOTA_EXCEEDED", .comesAgain("provider_throttled", after: 2),
                beside: .healthy),
            .odd("UNAVAILABLE_SECONDS", "UNAVAILABLE", .comesAgain("provider_busy", after: 2)),
            .scripted(
                429, "RESOURCE_EXHAUSTED", detail: .deviceQuota, retryAfter: 7,
                .comesAgain("device_throttled", after: 7)),
            .scripted(503, "UNAVAILABLE", retryAfter: 95, .comesAgain("provider_busy", after: 95)),
        ]

        @Test("leads to the expected outcome in the push history, the message account and the feed")
        func journey() async throws {
            // Some errors have several forms.
            let names = Set(Self.rows.compactMap(\.name))
            try #require(names.sorted() == FCMResponse.documented.sorted())
            try await ReasonJourney.take(Self.rows + Self.undocumented, of: .fcm)
        }
    }
}

/// Other parts of an answer of Google's.
private enum Detail: String {
    case badToken = """
        {"@type": "type.googleapis.com/google.rpc.BadRequest",
         "fieldViolations": [{"field": "message.token", "description": "Invalid registration token"}]}
        """
    case deviceQuota = """
        {"@type": "type.googleapis.com/google.rpc.QuotaFailure",
         "violations": [{"subject": "device", "description": "Too many messages"}]}
        """
}

extension ReasonRow {
    /// A rejection of this push only, whatever other pushes are in flight. A retried push is rejected the first time
    /// only.
    fileprivate static func about(_ fate: String, _ name: String, _ sequel: Sequel) -> ReasonRow {
        let reason = name.split(separator: " ").first { $0 != "FcmError" } ?? ""
        return ReasonRow(
            name: name, provider: .fcm, trigger: .token(beginning(fate, sequel)), reason: String(reason), sequel: sequel
        )
    }

    fileprivate static func alone(
        _ fate: String, _ name: String, _ sequel: Sequel, beside neighbours: Neighbours = .healthy
    ) -> ReasonRow {
        var row = about(fate, name, sequel)
        row.neighbours = neighbours
        return row
    }

    fileprivate static func odd(
        _ fate: String, _ reason: String, _ sequel: Sequel, beside neighbours: Neighbours = .anybody
    ) -> ReasonRow {
        ReasonRow(
            name: nil, provider: .fcm, trigger: .token(beginning(fate, sequel)), reason: reason, sequel: sequel,
            neighbours: neighbours)
    }

    fileprivate static func scripted(
        _ status: Int, _ reason: String, code: String? = nil, detail: Detail? = nil, name: String? = nil,
        retryAfter seconds: Int? = nil, _ sequel: Sequel
    ) -> ReasonRow {
        let type = "type.googleapis.com/google.firebase.fcm.v1.FcmError"
        let own = code.map { #"{"@type": "\#(type)", "errorCode": "\#($0)"}"# }
        let details = [own, detail?.rawValue].compactMap { $0 }.joined(separator: ", ")
        let body = """
            {"error": {"code": \(status), "message": "No.", "status": "\(reason)", "details": [\(details)]}}
            """
        let headers = seconds.map { [HeaderLine(name: "retry-after", value: "\($0)")] } ?? []
        let answer = ScriptedAnswer(status: status, reason: code ?? reason, headers: headers, body: Array(body.utf8))
        let documented = seconds == nil ? name ?? code.map { "FcmError \($0)" } ?? reason : nil
        return ReasonRow(
            name: documented, provider: .fcm, trigger: .script(answer),
            reason: code ?? reason, sequel: sequel)
    }

    private static func beginning(_ fate: String, _ sequel: Sequel) -> String {
        if case .ends = sequel { fate } else { "\(fate):1" }
    }
}

extension ReasonRow.Sequel {
    fileprivate static let refused = ReasonRow.Sequel.waitsForCredential("credential_refused", after: 15)
}
