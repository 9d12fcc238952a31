import Basis

/// What the wire said about one push. Nothing is ever silent: each push that was handed over gets exactly one.
package enum Outcome: Equatable, Sendable {
    /// The provider took responsibility. Display on the device is not promised.
    case accepted
    /// The provider answered "no". The same bytes would be refused again.
    case rejected(Rejection)
    /// Not now: throttled, overloaded, or the lane is blocked. The same bytes may pass later.
    /// `after` is counted from the answer; nil leaves the wait to the retry policy.
    case deferred(after: Duration?, DeferralReason)
    /// No byte was processed. Resending cannot duplicate it.
    case unsent(TransportFault)
    /// The bytes left, no answer came. Resending may show the alert twice.
    case unknown(TransportFault)
    /// Not sent, on purpose, with the word that says why: a dry run, of a provider that can't only look at a push.
    case withheld(reason: String)
}

/// A provider's refusal, with what it says about whom.
package struct Rejection: Equatable, Sendable {
    package let fault: RejectionFault
    /// The provider's own word, as documented ("BadDeviceToken"). Never holds a token or payload.
    package let reason: String
    /// When the provider last knew the token to be invalid (APNs 410). Absent: the answer carries no time.
    package let invalidSince: WallInstant?

    package init(fault: RejectionFault, reason: String, invalidSince: WallInstant? = nil) {
        self.fault = fault
        self.reason = reason
        self.invalidSince = invalidSince
    }
}

/// Whose fault a refusal is. Only the first three are verdicts about a token (P5).
package enum RejectionFault: Equatable, Sendable {
    /// The token is dead for this topic (410): retired at once, unless registered again since.
    case tokenUnregistered
    /// The token looks wrong here (malformed, other topic, other project): suspected, confirmed later.
    case tokenSuspect
    /// The provider doesn't know the token in this environment: malformed, or simply of the other one. Tried there,
    /// once, where the app sends there too; else suspected.
    case tokenUnknownHere
    /// These bytes or headers would be refused for any token.
    case message
    /// Our credential may not send here. Pauses the lane; the push waits.
    case credential
    /// We built the request wrongly. Alarms.
    case ours
}

/// Why a push has to wait.
package enum DeferralReason: Equatable, Sendable {
    /// This device gets too many: only its push waits.
    case deviceThrottled
    /// The provider failed at this push (5xx): it says nothing of the others.
    case providerBusy
    /// The provider is overloaded or down (503): whatever else it is sent now is sent in vain.
    case providerUnavailable
    /// The whole lane was told to slow down.
    case laneThrottled
    /// The credential is refused or missing: waits until it is mended.
    case credentialRefused
    /// The provider token was too old: again with a new one, on a new connection.
    case providerTokenExpired
    /// The lane can't send (breaker open, credential absent).
    case laneBlocked
}

/// Why no answer is known.
package enum TransportFault: Equatable, Sendable {
    case unreachable
    case tlsRefused
    case refusedStream
    case goAway
    case streamReset(code: UInt32)
    case connectionLost
    case deadlinePassed
    case protocolViolation
    /// The owner took the push back before it left (pause, cancel, drain, lease end).
    case withdrawn
}

/// Where every (message, registration) pair ends, in exactly one of these (P2). The numbers stand in the database.
package enum TerminalState: Int16, Hashable, Sendable, CaseIterable {
    case accepted = 1
    case rejected = 2
    case unregistered = 3
    case expired = 4
    case suppressed = 5
    case cancelled = 6
    case gaveUp = 7

    package var name: String {
        switch self {
        case .accepted: "accepted"
        case .rejected: "rejected"
        case .unregistered: "unregistered"
        case .expired: "expired"
        case .suppressed: "suppressed"
        case .cancelled: "cancelled"
        case .gaveUp: "gave_up"
        }
    }
}

/// A terminal state and the stable word that says why ("retries_exhausted", "BadTopic").
package struct TerminalStatus: Hashable, Sendable {
    package let state: TerminalState
    package let reason: String
    package init(_ state: TerminalState, _ reason: String = "") {
        self.state = state
        self.reason = reason
    }
}

/// What we conclude about a token.
package enum TokenVerdict: Equatable, Sendable {
    /// Dead by the provider's word. `since`: when it last knew; a later registration wins.
    case unregistered(since: WallInstant?, reason: String)
    /// Doubtful: to be confirmed by the window, the share and the sample.
    case suspected(reason: String)
    /// Doubtful in both environments: as `suspected`, and never compared again.
    case suspectedInBoth(reason: String)
    /// It worked: a suspicion about this generation falls.
    case cleared
    /// It worked in the other environment: the registration lives on that route from here on.
    case found(on: RouteID)
}
