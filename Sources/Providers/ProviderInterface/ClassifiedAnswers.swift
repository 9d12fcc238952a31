import Basis
import LaneRules
import Model

/// The connection that carried a request, and the authorization that it had. A verdict on credential or connection
/// applies to these.
package struct AnswerOrigin: Sendable, Equatable {
    package let connection: ConnectionID
    /// The request's `Authorization.generation`; nil: it had none, because the certificate authenticates.
    package let authorization: UInt64?

    @inlinable package init(connection: ConnectionID, authorization: UInt64?) {
        (self.connection, self.authorization) = (connection, authorization)
    }
}

/// A whole response of the provider that is no plain success, to a request of one or several members.
package struct ProviderResponse: Sendable {
    /// The positions of the request's members in their parcel.
    package let members: ArraySlice<Int32>
    package let status: UInt16
    /// The value of the header `retry-after`; empty: there was none.
    package let retryAfter: ByteRange
    package let body: ByteRange
    /// nil: the lane itself handed the request back.
    package let origin: AnswerOrigin?

    package init(
        members: ArraySlice<Int32>, status: UInt16, retryAfter: ByteRange, body: ByteRange, origin: AnswerOrigin?
    ) {
        (self.members, self.status, self.retryAfter) = (members, status, retryAfter)
        (self.body, self.origin) = (body, origin)
    }
}

/// The circumstances in which responses are classified.
package struct AnswerContext: Sendable {
    package let pushType: PushType
    /// The provider accepted a push with the lane's credential: as a plain success in this delivery, or a short time ago.
    /// Then an answer that refuses the credential is about its push, and does not block the lane.
    package let laneIsProven: Bool
    /// An earlier attempt at these pushes was answered, too.
    package let wereTried: Bool
    package let tokens: MemberTokens
    package let now: WallInstant

    package init(pushType: PushType, laneIsProven: Bool, wereTried: Bool, tokens: MemberTokens, now: WallInstant) {
        (self.pushType, self.laneIsProven, self.wereTried) = (pushType, laneIsProven, wereTried)
        (self.tokens, self.now) = (tokens, now)
    }
}

/// The meaning of a documented answer for its push.
package enum AnswerMeaning: Equatable, Sendable {
    case rejected(RejectionFault)
    case deferred(DeferralReason)
}

/// The meaning of an answer for the lane, beside its meaning for the push.
package enum LaneConsequence: Equatable, Sendable {
    /// The provider called the provider token of that generation too old. Connections that carried it are useless now.
    case providerTokenExpired(generation: UInt64, ConnectionID)
    /// The provider no longer takes the access token of that generation. The connections stay usable.
    case accessTokenRefused(generation: UInt64)
    /// The token is good, but another key bound these connections.
    case connectionsUnfit
    case credentialRefused(reason: String, ConnectionID?)
    /// The provider asks for a connection other than the one that it answered on.
    case connectionEnds(ConnectionID)
    /// The credential is good, but not for this route's topic.
    case topicRefused(reason: String)
    case alarm(ProviderAlarm)
}

/// The status and reason of an answer, for the log.
package struct AnswerQuote: Equatable, Sendable {
    package let status: UInt16
    package let reason: String
    package init(status: UInt16, reason: String) { (self.status, self.reason) = (status, reason) }
}

/// A verdict of a response about some of its members alone.
package struct AnswerPart: Sendable {
    package let members: [Int32]
    package let verdict: ProviderVerdict

    package init(_ members: [Int32], _ verdict: ProviderVerdict) { (self.members, self.verdict) = (members, verdict) }
}

package struct ClassifiedAnswers: Sendable {
    package struct Entry: Sendable {
        /// The positions in the parcel of members that share the outcome.
        package let members: ArraySlice<Int32>
        package let status: UInt16
        package let outcome: Outcome
        /// Whether the provider documents the reason. Other reasons are bounded in number before they are stored.
        package let isDocumented: Bool
        /// The documented reason; empty: there is none.
        package let quote: String
    }

    package private(set) var entries: [Entry] = []
    /// Each consequence once, however many responses call for it.
    package private(set) var consequences: [LaneConsequence] = []
    /// The first answer that called for each consequence, in their order.
    package private(set) var quotes: [AnswerQuote] = []
    /// The first answer that asks the lane to slow down.
    package private(set) var throttling: AnswerQuote?
    /// The number of responses that refuse the lane's credential. Many in a row end its proof.
    package var refusedCount = 0
    /// The first complaint about the message itself.
    package private(set) var complaint: MessageComplaint?

    package init() {}

    /// Keeps the first one: all pushes of a message are wrong in the same way.
    package mutating func note(_ complaint: MessageComplaint) { self.complaint = self.complaint ?? complaint }

    /// Adds a response that says the same of all its members.
    package mutating func add(_ response: ProviderResponse, _ outcome: Outcome, of verdict: ProviderVerdict) {
        add(response.members, response.status, outcome, of: verdict)
    }

    /// Adds a response that says something of some members alone, and the rest of all others. A member that two parts
    /// name belongs to the first.
    package mutating func add(_ response: ProviderResponse, _ parts: [AnswerPart], others rest: ProviderVerdict) {
        var left = response.members
        for part in parts {
            let named = Set(part.members)  // lookup only
            let members = left.filter { named.contains($0) }
            left.removeAll { named.contains($0) }
            add(members[...], response.status, part.verdict.outcome, of: part.verdict)
        }
        add(left, response.status, rest.outcome, of: rest)
    }

    private mutating func add(
        _ members: ArraySlice<Int32>, _ status: UInt16, _ outcome: Outcome, of verdict: ProviderVerdict
    ) {
        guard !members.isEmpty else { return }
        let answer = AnswerQuote(status: status, reason: verdict.reason)
        add(verdict.alarm.map(LaneConsequence.alarm), quoting: answer)
        switch outcome {
        case .deferred(_, .laneThrottled), .deferred(_, .providerUnavailable): throttling = throttling ?? answer
        case .accepted, .rejected, .deferred, .unsent, .unknown, .withheld: break
        }
        let quote = verdict.isDocumented ? verdict.reason : ""
        entries.append(
            Entry(
                members: members, status: status, outcome: outcome, isDocumented: verdict.isDocumented, quote: quote))
    }

    /// Adds a consequence, if there is one. The alarm of a verdict comes with its response.
    package mutating func add(_ consequence: LaneConsequence?, quoting quote: AnswerQuote) {
        guard let consequence, !consequences.contains(consequence) else { return }
        consequences.append(consequence)
        quotes.append(quote)
    }
}
