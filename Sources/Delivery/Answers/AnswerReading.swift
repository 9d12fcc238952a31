import APNs
import Basis
import FCM
import LaneRules
import Lanes
import Model

/// What an answer means for the connections, beside what it means for its push.
package enum LaneConsequence: Equatable, Sendable {
    /// The provider token of that generation was too old: connections that carried it are of no use any more.
    case providerTokenExpired(generation: UInt64)
    /// The access token of that generation is not taken any more; the connections are good.
    case accessTokenRefused(generation: UInt64)
    /// The token is good, these connections are not: another key bound them.
    case connectionsUnfit
    /// By the provider's word for it, on that connection.
    case credentialRefused(reason: String, ConnectionID?)
    /// The provider asks for another connection than the one that it answered on.
    case connectionEnds(ConnectionID)
    /// The credential is good, but not for this route's topic.
    case topicRefused
    case alarm(ProviderAlarm)
}

/// One delivery of answers, sorted: the plain 200s by position, the others as outcomes.
package struct AnswerReading {
    package private(set) var accepted: [Int32] = []
    package private(set) var others: [PositionedOutcome] = []
    /// Each once, however many answers say it.
    package private(set) var consequences: [LaneConsequence] = []

    private let provider: Provider
    private let now: WallInstant
    private let laneIsProven: Bool
    private let topicHasSuffix: Bool
    /// How many of FCM's answers don't know what was asked for: the project, or something of the push.
    package private(set) var notFoundCount = 0
    private var notFound: [(tag: Int32, verdict: ProviderVerdict, origin: AnswerOrigin?)] = []

    /// - Parameters:
    ///   - provider: whose words the answers are in.
    ///   - laneIsProven: the lane's credential was taken not long ago (`CredentialConfidence`).
    ///   - topicHasSuffix: the pushes' topic is not the app's own, but one of its kinds'.
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
            // The common answer. FCM's names the message; that is of no use to us.
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

    /// A project that answers others is there: then it is this push that can't be found, whatever the reason. It waits at
    /// its own cost, and stops nobody else.
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

    /// FCM has nothing against a connection, and no topics: its refusals are of the access token, or of the account.
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

    /// A certificate for the app that does not cover this kind of push: no wait mends that, and to stop the route would stop
    /// the app's alerts with it. nil: something else.
    private static func refusedOfKind(_ verdict: ProviderVerdict) -> Outcome? {
        guard case .deferred(_, .credentialRefused) = verdict.outcome, verdict.connection != .close else { return nil }
        return .rejected(Rejection(fault: .message, reason: verdict.reason))
    }

    /// APNs sends whole seconds, where it sends anything; a date, or nonsense, leaves the wait to the retry policy.
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

/// Words for refusals that no documentation of the provider has. They end up in rows, one a message and word, so a peer
/// that invents them gets only so many.
package struct ReasonNames: Equatable, Sendable {
    package static let namesMax = 32
    private var known: Set<String> = []

    package init() {}

    /// The outcome with a word that was met before or is one of the first; otherwise with the status in its place.
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
