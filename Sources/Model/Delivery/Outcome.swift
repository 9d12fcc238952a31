import Basis

/// The result of one push on the wire. Each push handed over gets exactly one.
package enum Outcome: Equatable, Sendable {
    /// The provider took responsibility. Display on the device is not promised.
    case accepted
    /// The provider answered "no". The same bytes would be refused again.
    case rejected(Rejection)
    /// Not accepted now: throttled, overloaded, or the lane is blocked. The same bytes may pass later. `after` is
    /// counted from the answer; nil leaves the wait to the retry policy.
    case deferred(after: Duration?, DeferralReason)
    /// No byte was processed. Resending cannot duplicate it.
    case unsent(TransportFault)
    /// The bytes left and no answer came. Resending may show the alert twice.
    case unknown(TransportFault)
    /// Not sent on purpose, with the reason: a dry run of a provider that can't validate a push without sending it. Or
    /// the notification has nothing to show on this device.
    case withheld(reason: String)
}

/// A provider's refusal and whose fault it is.
package struct Rejection: Equatable, Sendable {
    package let fault: RejectionFault
    /// The provider's documented reason ("BadDeviceToken"). Never holds a token or payload.
    package let reason: String
    /// The last time at which the provider knew the token to be invalid (APNs 410); nil: the answer carries no time.
    package let invalidSince: WallInstant?

    package init(fault: RejectionFault, reason: String, invalidSince: WallInstant? = nil) {
        (self.fault, self.reason, self.invalidSince) = (fault, reason, invalidSince)
    }
}

/// The party at fault for a refusal. Only the first three cases are verdicts about a token (P5).
package enum RejectionFault: Equatable, Sendable {
    /// The token is dead for this topic (410). It is retired at once, unless registered again since.
    case tokenUnregistered
    /// The token looks wrong (malformed, or said to be dead in an unusual form). It is suspected, to be confirmed later.
    case tokenSuspect
    /// The token is of another project or topic, or our credential is. It is suspected, and not blamed.
    case tokenElsewhere
    /// The provider doesn't know the token in this environment: malformed, or of the other environment. It is tried
    /// there once if the app sends there too; otherwise it is suspected.
    case tokenUnknownHere
    /// These bytes or headers would be refused for any token.
    case message
    /// Our credential may not send here. The lane pauses; the push waits.
    case credential
    /// We built the request wrongly. This raises an alarm.
    case ours
}

package enum DeferralReason: Equatable, Sendable {
    /// This device gets too many pushes, so only its push waits.
    case deviceThrottled
    /// The provider failed at this push (5xx). Other pushes are not affected.
    case providerBusy
    /// The provider is overloaded or down (503). Other pushes would fail too.
    case providerUnavailable
    /// The provider asked the whole lane to slow down.
    case laneThrottled
    /// The credential is refused or missing. The push waits until it is repaired.
    case credentialRefused
    /// The provider token was too old. Retried with a new one on a new connection.
    case providerTokenExpired
    /// The lane can't send (circuit breaker open, credential absent).
    case laneBlocked
}

/// The reason why no answer is known.
package enum TransportFault: Equatable, Sendable {
    case unreachable
    case tlsRefused
    case refusedStream
    case goAway
    case streamReset(code: UInt32)
    case connectionLost
    case deadlinePassed
    case protocolViolation
    /// The owner withdrew the push before it left (pause, cancel, drain, lease end).
    case withdrawn
}

/// The end of each (message, registration) pair, exactly one of these (P2). The numbers are stored in the database.
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

/// A terminal state and its stable reason ("retries_exhausted", "BadTopic").
package struct TerminalStatus: Hashable, Sendable {
    package let state: TerminalState
    package let reason: String
    package init(_ state: TerminalState, _ reason: String = "") { (self.state, self.reason) = (state, reason) }
}

/// Our conclusion about a token.
package enum TokenVerdict: Equatable, Sendable {
    /// The provider declared the token dead. `since` is when it last knew; a later registration wins.
    case unregistered(since: WallInstant?, reason: String)
    /// The token is under suspicion, to be confirmed by the window, the share and the sample.
    case suspected(reason: String)
    /// The token is under suspicion in both environments. As `suspected`, and the other environment is not tried again.
    case suspectedInBoth(reason: String)
    /// The token worked, so a suspicion about this generation is cleared.
    case cleared
    /// The token worked in the other environment. The registration moves to that route.
    case found(on: RouteID)
}
