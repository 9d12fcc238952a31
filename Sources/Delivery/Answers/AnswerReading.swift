import Basis
import Lanes
import Model
import ProviderInterface

/// One delivery of answers, sorted: the accepted pushes by position, the others as outcomes.
package struct AnswerReading {
    package private(set) var accepted: [Int32] = []
    package private(set) var others: [PositionedOutcome] = []
    /// Each consequence once, however many answers call for it.
    package private(set) var consequences: [LaneConsequence] = []
    /// The first answer that called for each consequence, in their order.
    package private(set) var quotes: [AnswerQuote] = []
    /// The first answer that asks the lane to slow down; nil: none does.
    package private(set) var throttling: AnswerQuote?
    /// The number of answers that refuse the lane's credential.
    package private(set) var refusedCount = 0
    /// The provider's complaint about the message itself; nil: it named nothing.
    package private(set) var complaint: MessageComplaint?
    /// The fault in the body of a plain success; nil: all are as documented.
    package private(set) var undocumentedBody: String?

    /// - Parameters:
    ///   - laneIsProven: a push was accepted a short time ago. One that this batch accepts proves the lane, too.
    ///   - wereTried: an earlier attempt at these pushes was answered.
    ///   - tokens: the tokens of the parcel's members.
    ///   - names: the undocumented reasons seen so far.
    package init(
        _ batch: AnswerBatch, of provider: any PushProvider, pushType: PushType, laneIsProven: Bool, wereTried: Bool,
        tokens: MemberTokens = MemberTokens(), now: WallInstant, _ names: inout ReasonNames
    ) {
        accepted.reserveCapacity(batch.answers.count)
        var responses: [ProviderResponse] = []
        var acceptedBodies: [ByteRange] = []
        let rules = provider.answerRules
        for answer in batch.answers {
            switch answer.kind {
            // The common answer. FCM's body names the message; we don't need that name.
            case .response(let status, _, let body) where rules.isPlainSuccess(status):
                for place in answer.places { accepted.append(batch.members[place]) }
                if !body.isEmpty { acceptedBodies.append(body) }
            case .response(let status, let retryAfter, let body):
                responses.append(
                    ProviderResponse(
                        members: batch.members[answer.places], status: status, retryAfter: retryAfter, body: body,
                        origin: answer.origin))
            case .unsent(let fault): end(batch.members[answer.places], .unsent(fault))
            case .unknown(let fault): end(batch.members[answer.places], .unknown(fault))
            }
        }
        if !acceptedBodies.isEmpty {
            undocumentedBody = provider.undocumentedBody(ofAccepted: acceptedBodies, bytes: batch.bytes)
        }
        guard !responses.isEmpty else { return }
        let classified = provider.classify(
            responses, bytes: batch.bytes,
            AnswerContext(
                pushType: pushType, laneIsProven: laneIsProven || !accepted.isEmpty, wereTried: wereTried,
                tokens: tokens, now: now))
        (consequences, quotes, throttling) = (classified.consequences, classified.quotes, classified.throttling)
        (refusedCount, complaint) = (classified.refusedCount, classified.complaint)
        for entry in classified.entries {
            guard entry.outcome != .accepted else {
                accepted += entry.members
                continue
            }
            let outcome = entry.isDocumented ? entry.outcome : names.bounded(entry.outcome, entry.status)
            end(entry.members, outcome, quote: entry.quote)
        }
    }

    private mutating func end(_ members: ArraySlice<Int32>, _ outcome: Outcome, quote: String = "") {
        for position in members { others.append(PositionedOutcome(position: position, outcome: outcome, quote: quote)) }
    }
}

extension Answer {
    /// The places of its request's members among those of the batch.
    fileprivate var places: Range<Int> { Int(tag)..<Int(tag) + Int(weight) }
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
                Rejection(fault: rejection.fault, reason: "status_\(status)", invalidSince: rejection.invalidSince))
        }
        known.insert(rejection.reason)
        return outcome
    }
}
