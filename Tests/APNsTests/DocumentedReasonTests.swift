import APNs
import Basis
import Model
import Testing

/// Our interpretation of one documented reason.
private struct ReasonCase: CustomTestStringConvertible {
    enum Meaning: Equatable {
        case rejected(RejectionFault)
        /// The earliest retry in seconds after the answer. nil: the retry policy decides.
        case deferred(DeferralReason, seconds: Int64?)
    }

    let status: Int
    let reason: String
    let meaning: Meaning
    let connection: ConnectionAdvice
    let alarm: ProviderAlarm?

    init(
        _ status: Int, _ reason: String, _ meaning: Meaning, _ connection: ConnectionAdvice = .keep,
        alarm: ProviderAlarm? = nil
    ) {
        self.status = status
        self.reason = reason
        self.meaning = meaning
        self.connection = connection
        self.alarm = alarm
    }

    var testDescription: String { "\(status) \(reason)" }

    /// In the order of Apple's table. Each of the two spellings that Apple does not list follows its documented one.
    static let all = [
        ReasonCase(400, "BadCollapseId", .rejected(.message)),
        ReasonCase(400, "BadDeviceToken", .rejected(.tokenUnknownHere)),
        ReasonCase(400, "BadExpirationDate", .rejected(.message)),
        ReasonCase(400, "BadMessageId", .rejected(.ours), alarm: .ourRequest),
        ReasonCase(400, "BadPriority", .rejected(.message)),
        ReasonCase(400, "BadTopic", .rejected(.message), alarm: .credential),
        ReasonCase(400, "DeviceTokenNotForTopic", .rejected(.tokenElsewhere)),
        ReasonCase(400, "DuplicateHeaders", .rejected(.ours), alarm: .ourRequest),
        ReasonCase(400, "IdleTimeout", .deferred(.providerBusy, seconds: nil), .close),
        ReasonCase(400, "InvalidPushType", .rejected(.message)),
        ReasonCase(400, "MissingDeviceToken", .rejected(.ours), alarm: .ourRequest),
        ReasonCase(400, "MissingTopic", .deferred(.credentialRefused, seconds: nil), alarm: .credential),
        ReasonCase(400, "PayloadEmpty", .rejected(.ours), alarm: .ourRequest),
        ReasonCase(400, "TopicDisallowed", .deferred(.credentialRefused, seconds: nil), alarm: .credential),
        ReasonCase(403, "BadCertificate", .deferred(.credentialRefused, seconds: nil), .close, alarm: .credential),
        ReasonCase(
            403, "BadCertificateEnvironment", .deferred(.credentialRefused, seconds: nil), .close, alarm: .credential),
        ReasonCase(403, "ExpiredProviderToken", .deferred(.providerTokenExpired, seconds: nil), .close, alarm: .clock),
        ReasonCase(403, "Forbidden", .deferred(.credentialRefused, seconds: nil), .close, alarm: .credential),
        ReasonCase(
            403, "InvalidProviderToken", .deferred(.credentialRefused, seconds: nil), .close, alarm: .credential),
        ReasonCase(
            403, "MissingProviderToken", .deferred(.credentialRefused, seconds: nil), .close, alarm: .ourRequest),
        ReasonCase(403, "UnrelatedKeyIdInToken", .deferred(.providerTokenExpired, seconds: nil), .close),
        ReasonCase(
            403, "BadEnvironmentKeyIdInToken", .deferred(.credentialRefused, seconds: nil), .close, alarm: .credential),
        ReasonCase(
            403, "BadEnvironmentKeyInToken", .deferred(.credentialRefused, seconds: nil), .close, alarm: .credential),
        ReasonCase(404, "BadPath", .rejected(.ours), alarm: .ourRequest),
        ReasonCase(405, "MethodNotAllowed", .rejected(.ours), alarm: .ourRequest),
        ReasonCase(410, "Unregistered", .rejected(.tokenUnregistered)),
        ReasonCase(410, "ExpiredToken", .rejected(.tokenUnregistered)),
        ReasonCase(413, "PayloadTooLarge", .rejected(.message)),
        ReasonCase(429, "TooManyProviderTokenUpdates", .deferred(.laneThrottled, seconds: 60), alarm: .keyShared),
        ReasonCase(429, "TooManyRequests", .deferred(.deviceThrottled, seconds: 60)),
        ReasonCase(500, "InternalServerError", .deferred(.providerBusy, seconds: 10)),
        ReasonCase(503, "ServiceUnavailable", .deferred(.providerUnavailable, seconds: 10)),
        ReasonCase(503, "Service Unavailable", .deferred(.providerUnavailable, seconds: 10)),
        ReasonCase(503, "Shutdown", .deferred(.providerBusy, seconds: nil), .replace),
    ]
}

@Suite("A documented reason of APNs")
struct DocumentedReasonTests {
    @Test(
        "decides the outcome, the connection's fate, the alarm and the retry time",
        arguments: ReasonCase.all)
    private func meaning(wanted: ReasonCase) {
        let body = Array(#"{"reason":"\#(wanted.reason)","timestamp":1700000000123}"#.utf8)
        let verdict = APNsResponse.classify(status: wanted.status, body: body.span)
        switch wanted.meaning {
        case .rejected(let fault):
            // Only a 410 that retires its token tells since when.
            let since = WallInstant(microseconds: 1_700_000_000_123_000)
            let invalidSince = fault == .tokenUnregistered ? since : nil
            #expect(
                verdict.outcome
                    == .rejected(Rejection(fault: fault, reason: wanted.reason, invalidSince: invalidSince)))
        case .deferred(let why, let seconds):
            #expect(verdict.outcome == .deferred(after: seconds.map { .seconds($0) }, why))
        }
        #expect(verdict.connection == wanted.connection)
        #expect(verdict.alarm == wanted.alarm)
        #expect(verdict.reason == wanted.reason)
        #expect(verdict.isDocumented)
    }

    @Test("appears once in the product's table and once in the test's")
    func once() {
        #expect(Set(ReasonCase.all.map(\.reason)).count == ReasonCase.all.count)
        let table = APNsResponse.documented.map { "\($0.status) \($0.reason)" }
        #expect(ReasonCase.all.map(\.testDescription).sorted() == table.sorted())
    }

    @Test("retires a token for two reasons, suspects it for one and doubts its environment for one")
    func tokens() {
        func reasons(_ fault: RejectionFault) -> [String] {
            ReasonCase.all.filter { $0.meaning == .rejected(fault) }.map(\.reason)
        }
        #expect(reasons(.tokenUnregistered) == ["Unregistered", "ExpiredToken"])
        #expect(reasons(.tokenElsewhere) == ["DeviceTokenNotForTopic"])
        #expect(reasons(.tokenUnknownHere) == ["BadDeviceToken"])
        #expect(reasons(.credential) == [])
    }
}
