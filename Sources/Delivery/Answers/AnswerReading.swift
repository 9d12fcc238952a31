import APNs
import Basis
import FCM
import LaneRules
import Lanes
import Model

/// The meaning of an answer for the lane, beside its meaning for the push.
package enum LaneConsequence: Equatable, Sendable {
    /// The provider token of that generation was too old. Connections that carried it are useless now.
    case providerTokenExpired(generation: UInt64)
    /// The provider no longer takes the access token of that generation. The connections stay usable.
    case accessTokenRefused(generation: UInt64)
    /// The token is good, but another key bound these connections.
    case connectionsUnfit
    /// The provider refused the credential, for that reason and on that connection.
    case credentialRefused(reason: String, ConnectionID?)
    /// The provider asks for a connection other than the one that it answered on.
    case connectionEnds(ConnectionID)
    /// The credential is good, but not for this route's topic.
    case topicRefused
    case alarm(ProviderAlarm)
}

/// One delivery of answers, sorted: the plain 200s by position, the others as outcomes.
package struct AnswerReading {
    package private(set) var accepted: [Int32] = []
    package private(set) var others: [PositionedOutcome] = []
    /// Each consequence once, however many answers call for it.
    package private(set) var consequences: [LaneConsequence] = []

    private let provider: Provider
    private let now: WallInstant
    private let laneIsProven: Bool
    private let topicHasSuffix: Bool
    /// The number of FCM's 404 answers: the project, or something that the push names, was not found.
    package private(set) var notFoundCount = 0
    private var notFound: [(tag: Int32, verdict: ProviderVerdict, origin: AnswerOrigin?)] = []

    /// - Parameters:
    ///   - provider: the provider whose answers these are.
    ///   - laneIsProven: the provider accepted the lane's credential recently (`CredentialConfidence`).
    ///   - topicHasSuffix: the pushes' topic is not the app's own, but has the suffix of their push type.
    package init(
        of provider: Provider, now: WallInstant, laneIsProven: Bool = false, topicHasSuffix: Bool = false
    ) {
        self.provider = provider
        self.now = now
        self.laneIsProven = laneIsProven
        self.topicHasSuffix = topicHasSuffix
    }

    package mutating func read(_ batch: AnswerBatch, _ names: inout ReasonNames) {
        accepted.reserveCapacity(batch.answers.count)
        for answer in batch.answers {
            switch answer.kind {
            // The common answer. FCM's body names the message; we don't need that name.
            case .response(200, _, _): accepted.append(answer.tag)
            case .response(let status, let retryAfter, let body):
                let verdict = classify(
                    Int(status), batch.bytes.span.extracting(retryAfter.range), batch.bytes.span.extracting(body.range))
                if provider == .fcm, status == 404, case .deferred(_, .credentialRefused) = verdict.outcome {
                    notFound.append((answer.tag, verdict, answer.origin))
                    continue
                }
                if topicHasSuffix, let refused = Self.refusedOfKind(verdict) {
                    if let alarm = verdict.alarm { add(.alarm(alarm)) }
                    others.append(PositionedOutcome(position: answer.tag, outcome: refused))
                    continue
                }
                note(verdict, answer.origin)
                let outcome = verdict.isDocumented ? verdict.outcome : names.bounded(verdict.outcome, status)
                others.append(PositionedOutcome(position: answer.tag, outcome: outcome))
            case .unsent(let fault):
                others.append(PositionedOutcome(position: answer.tag, outcome: .unsent(fault)))
            case .unknown(let fault):
                others.append(PositionedOutcome(position: answer.tag, outcome: .unknown(fault)))
            }
        }
        decideNotFound()
    }

    /// Decides what FCM's 404 answers mean.
    ///
    /// A project that accepts other pushes exists. Then only this push can't be found, whatever the reason: it alone is
    /// deferred.
    private mutating func decideNotFound() {
        let isProjectThere = laneIsProven || !accepted.isEmpty
        notFoundCount += notFound.count
        for (tag, verdict, origin) in notFound {
            guard isProjectThere else {
                note(verdict, origin)
                others.append(PositionedOutcome(position: tag, outcome: verdict.outcome))
                continue
            }
            if let alarm = verdict.alarm { add(.alarm(alarm)) }
            others.append(
                PositionedOutcome(position: tag, outcome: .deferred(after: Self.notFoundPause, .providerBusy)))
        }
        notFound = []
    }

    private static let notFoundPause: Duration = .seconds(60)

    private func classify(_ status: Int, _ retryAfter: Span<UInt8>, _ body: Span<UInt8>) -> ProviderVerdict {
        switch provider {
        case .fcm: FCMResponse.classify(status: status, body: body, retryAfter: retryAfter, now: now)
        case .apns, .hms, .webpush:
            APNsResponse.classify(status: status, body: body, retryAfter: seconds(retryAfter))
        }
    }

    private mutating func note(_ verdict: ProviderVerdict, _ origin: AnswerOrigin?) {
        if provider == .fcm { noteFCM(verdict, origin) } else { noteAPNs(verdict, origin) }
        if let alarm = verdict.alarm { add(.alarm(alarm)) }
    }

    /// FCM's refusals concern the access token or the account, never a connection or a topic.
    private mutating func noteFCM(_ verdict: ProviderVerdict, _ origin: AnswerOrigin?) {
        switch verdict.outcome {
        case .deferred(_, .providerTokenExpired):
            if let generation = origin?.authorization { add(.accessTokenRefused(generation: generation)) }
        case .deferred(_, .credentialRefused):
            add(.credentialRefused(reason: verdict.reason, origin?.connection))
        default:
            if verdict.connection != .keep, let origin { add(.connectionEnds(origin.connection)) }
        }
    }

    private mutating func noteAPNs(_ verdict: ProviderVerdict, _ origin: AnswerOrigin?) {
        switch verdict.outcome {
        case .deferred(_, .providerTokenExpired):
            guard verdict.alarm == .clock else {
                add(.connectionsUnfit)
                break
            }
            if let generation = origin?.authorization { add(.providerTokenExpired(generation: generation)) }
        // A topic that the credential does not cover is no fault of the lane: other topics go on.
        case .deferred(_, .credentialRefused) where verdict.connection != .close: add(.topicRefused)
        case .deferred(_, .credentialRefused):
            add(.credentialRefused(reason: verdict.reason, origin?.connection))
        default:
            if verdict.connection != .keep, let origin { add(.connectionEnds(origin.connection)) }
        }
    }

    private mutating func add(_ consequence: LaneConsequence) {
        if !consequences.contains(consequence) { consequences.append(consequence) }
    }

    /// Rejects a push whose type the app's certificate does not cover; nil: the verdict is another one.
    ///
    /// No wait helps here, and pausing the route would stop the app's alerts too.
    private static func refusedOfKind(_ verdict: ProviderVerdict) -> Outcome? {
        guard case .deferred(_, .credentialRefused) = verdict.outcome, verdict.connection != .close else { return nil }
        return .rejected(Rejection(fault: .message, reason: verdict.reason))
    }

    /// Reads APNs' `Retry-After` in whole seconds. A date or nonsense leaves the wait to the retry policy.
    private func seconds(_ text: Span<UInt8>) -> Duration? {
        guard !text.isEmpty, text.count <= 6 else { return nil }
        var value: Int64 = 0
        for place in text.indices {
            guard (0x30...0x39).contains(text[place]) else { return nil }
            value = value * 10 + Int64(text[place] - 0x30)
        }
        return .seconds(value)
    }
}

/// Reasons for refusals that the provider does not document. Each becomes a row per message, so their number is bounded
/// in case the peer invents them.
package struct ReasonNames: Equatable, Sendable {
    package static let namesMax = 32
    private var known: Set<String> = []

    package init() {}

    /// Returns the outcome with its reason if that is known or one of the first, else with the status in its place.
    mutating func bounded(_ outcome: Outcome, _ status: UInt16) -> Outcome {
        guard case .rejected(let rejection) = outcome else { return outcome }
        if known.contains(rejection.reason) { return outcome }
        guard known.count < Self.namesMax else {
            return .rejected(
                Rejection(
                    fault: rejection.fault, reason: "status_\(status)", invalidSince: rejection.invalidSince))
        }
        known.insert(rejection.reason)
        return outcome
    }
}
