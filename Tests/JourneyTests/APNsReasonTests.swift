import APNs
import Simulator
import Testing

extension Journeys {
    @Suite("Each documented APNs reason")
    struct APNsReasonTests {
        /// The rows are in the order of the table.
        private static let rows: [ReasonRow] = [
            .about("40", 400, "BadCollapseId", .ends("rejected")),
            .about("41", 400, "BadExpirationDate", .ends("rejected")),
            .about("43", 400, "BadPriority", .ends("rejected")),
            .about("47", 400, "InvalidPushType", .ends("rejected")),
            .about("0b", 413, "PayloadTooLarge", .ends("rejected")),
            .about("44", 400, "BadTopic", .ends("rejected")),

            .about("04", 400, "BadDeviceToken", .ends("rejected", verdict: "suspected")),
            .about("05", 400, "DeviceTokenNotForTopic", .ends("rejected", verdict: "suspected")),
            .about("01", 410, "Unregistered", .ends("unregistered", verdict: "retired")),
            .about("03", 410, "ExpiredToken", .ends("unregistered", verdict: "retired")),

            .about("42", 400, "BadMessageId", .ends("rejected")),
            .about("45", 400, "DuplicateHeaders", .ends("rejected")),
            .about("48", 400, "MissingDeviceToken", .ends("rejected")),
            .about("4a", 400, "PayloadEmpty", .ends("rejected")),
            .about("51", 404, "BadPath", .ends("rejected")),
            .about("52", 405, "MethodNotAllowed", .ends("rejected")),

            .alone("0a", 400, "TopicDisallowed", .refused),
            .alone("49", 400, "MissingTopic", .refused),
            .alone("4b", 403, "BadCertificate", .refused),
            .alone("4c", 403, "BadCertificateEnvironment", .refused),
            .alone("0e", 403, "Forbidden", .refused),
            .alone("0d", 403, "InvalidProviderToken", .refused),
            .alone("4d", 403, "MissingProviderToken", .refused),
            .alone("4f", 403, "BadEnvironmentKeyIdInToken", .refused),
            .alone("50", 403, "BadEnvironmentKeyInToken", .refused),
            // The token is young: no other may be signed with this key yet, so it is tried again.
            .alone("0c", 403, "ExpiredProviderToken", .comesAgain("provider_token_expired", after: 1)),
            .alone("4e", 403, "UnrelatedKeyIdInToken", .comesAgain("provider_token_expired", after: 1)),
            .alone("0f", 429, "TooManyProviderTokenUpdates", .comesAgain("provider_throttled", after: 60)),

            .about("06", 429, "TooManyRequests", .comesAgain("device_throttled", after: 60)),
            .about("46", 400, "IdleTimeout", .comesAgain("provider_busy", after: 1)),
            .about("09", 503, "Shutdown", .comesAgain("provider_busy", after: 1)),
            .about("07", 500, "InternalServerError", .comesAgain("provider_busy", after: 10)),
            .about("08", 503, "ServiceUnavailable", .comesAgain("provider_busy", after: 10)),
            .scripted(503, "Service Unavailable", .comesAgain("provider_busy", after: 10)),
        ]

        /// Reasons that Apple may add, and answers of servers in between.
        private static let undocumented: [ReasonRow] = [
            .odd("11", "ReasonOfTomorrow", .ends("rejected")),
            .odd("12", "ReasonOfTomorrow", .comesAgain("provider_busy", after: 10)),
            .odd("02", "Unregistered", .ends("unregistered")),
            .odd("13", "Unregistered", .ends("unregistered", verdict: "retired")),
            .odd("27", "status_500", .comesAgain("provider_busy", after: 10)),
            .odd("28", "status_400", .ends("rejected")),
            // A Retry-After of 2, less than the pause that is known to be good for the device; and a longer one.
            .odd("10", "TooManyRequests", .comesAgain("device_throttled", after: 60)),
            .scripted(429, "TooManyRequests", retryAfter: 75, .comesAgain("device_throttled", after: 75)),
        ]

        @Test("leads to the expected outcome in the push history, the message account and the feed")
        func journey() async throws {
            let names = Self.rows.compactMap(\.name).sorted()
            try #require(names == APNsResponse.documented.map { "\($0.status) \($0.reason)" }.sorted())
            try await ReasonJourney.take(Self.rows + Self.undocumented, of: .apns)
        }
    }
}

extension ReasonRow {
    /// A rejection of this push only, whatever other pushes are in flight. A retried push is rejected the first time
    /// only.
    fileprivate static func about(_ fate: String, _ status: Int, _ reason: String, _ sequel: Sequel) -> ReasonRow {
        ReasonRow(
            name: "\(status) \(reason)", provider: .apns, trigger: .token(beginning(fate, sequel)), reason: reason,
            sequel: sequel)
    }

    fileprivate static func alone(_ fate: String, _ status: Int, _ reason: String, _ sequel: Sequel) -> ReasonRow {
        var row = about(fate, status, reason, sequel)
        row.neighbours = .healthy
        return row
    }

    fileprivate static func scripted(
        _ status: Int, _ reason: String, retryAfter seconds: Int? = nil, _ sequel: Sequel
    ) -> ReasonRow {
        let headers = seconds.map { [HeaderLine(name: "retry-after", value: "\($0)")] } ?? []
        let answer = ScriptedAnswer(status: status, reason: reason, headers: headers)
        return ReasonRow(
            name: seconds == nil ? "\(status) \(reason)" : nil, provider: .apns, trigger: .script(answer),
            reason: reason,
            sequel: sequel)
    }

    fileprivate static func odd(_ fate: String, _ reason: String, _ sequel: Sequel) -> ReasonRow {
        ReasonRow(name: nil, provider: .apns, trigger: .token(beginning(fate, sequel)), reason: reason, sequel: sequel)
    }

    private static func beginning(_ fate: String, _ sequel: Sequel) -> String {
        if case .ends = sequel { "dead\(fate)00" } else { "dead\(fate)01" }
    }
}

extension ReasonRow.Sequel {
    fileprivate static let refused = ReasonRow.Sequel.waitsForCredential("credential_refused", after: 15)
}
