import Basis

/// Decides when an account's access token is used, and when the next one is requested. The caller signs and sends.
///
/// Each process has its own: frequent requests are harmless, only slow. All times are on the monotonic clock.
package struct AccessTokenCache: Equatable, Sendable {
    /// The time before its end at which the next token is requested, while this one is still used.
    package static let renewalLead: Duration = .seconds(300)
    /// A token is not used in its last seconds: a request takes a while to arrive.
    package static let safetyMargin: Duration = .seconds(30)
    /// The pause after one failure; it doubles with each further one, up to the maximum.
    package static let failurePause: Duration = .seconds(1)
    package static let failurePauseMax: Duration = .seconds(300)
    /// The pause after a refusal that only an operator can resolve at the provider. A new credential makes a new cache.
    package static let refusalPause: Duration = .seconds(60)
    /// A token that replaced a refused one and is refused at this age or younger was not too old.
    package static let provingTime: Duration = .seconds(10)

    package enum Next: Equatable, Sendable {
        case use(AccessToken)
        case useAndRenew(AccessToken)
        /// There is no usable token until one is fetched.
        case renew
        /// There is no usable token, and nothing to do before this instant; nil while a renewal is under way.
        case wait(until: MonotonicInstant?)
    }

    package enum Refusal: Equatable, Sendable {
        /// Another token is in use already, or on its way: the push is simply sent again.
        case known
        /// The token is discarded; `next` requests another, once.
        case toRenew
        /// Its successor, just fetched, is refused too: its age is not the cause. An operator should look; `next`
        /// waits.
        case again
    }

    private var current: AccessToken?
    private var renewAt: MonotonicInstant?
    private var isRefused = false
    /// The current token was fetched in place of a refused one.
    private var replacesRefused = false
    /// A renewal is under way; there is one at a time.
    private var isRenewing = false
    private var failures = 0
    private var pausedUntil: MonotonicInstant?

    package init() {}

    /// Returns the next step, before each batch. The caller must end a requested renewal with `adopt`, `renewalFailed`
    /// or `renewalRefused`.
    package mutating func next(now: MonotonicInstant) -> Next {
        guard let token = current, !isRefused, now < Self.end(of: token) else { return renewal(now, elseUse: nil) }
        if let renewAt, now < renewAt { return .use(token) }
        return renewal(now, elseUse: token)
    }

    /// The token that requests may carry until `next` says otherwise; nil while the only one is refused.
    package var serving: AccessToken? { isRefused ? nil : current }

    private mutating func renewal(_ now: MonotonicInstant, elseUse token: AccessToken?) -> Next {
        if isRenewing { return token.map { .use($0) } ?? .wait(until: nil) }
        if let pausedUntil, now < pausedUntil { return token.map { .use($0) } ?? .wait(until: pausedUntil) }
        isRenewing = true
        return token.map { .useAndRenew($0) } ?? .renew
    }

    /// Takes the token of a renewal. `entropy` spreads the next renewals of processes that began together.
    package mutating func adopt(_ token: AccessToken, entropy: UInt64) {
        isRenewing = false
        failures = 0
        pausedUntil = nil
        if token.text == current?.text, isRefused {
            // The refused token came again: there is no need to hurry.
            pausedUntil = token.askedAt + Self.refusalPause
        } else {
            replacesRefused = isRefused
            isRefused = false
        }
        current = token
        let lead = min(Self.renewalLead, token.lifetime / 2)
        let early = Self.spread(min(.seconds(60), token.lifetime / 20), entropy)
        renewAt = token.askedAt + (token.lifetime - lead - early)
    }

    /// Records that there was no answer, or one that passes. `after`: the earliest retry that the answer allows.
    package mutating func renewalFailed(now: MonotonicInstant, after: Duration? = nil, entropy: UInt64) {
        isRenewing = false
        var pause = Self.failurePause
        for _ in 0..<min(failures, 16) { pause = min(pause * 2, Self.failurePauseMax) }
        failures += 1
        pause = max(pause, min(after ?? .zero, Self.failurePauseMax))
        pausedUntil = now + pause + Self.spread(pause / 4, entropy)
    }

    /// Records that the account itself was refused.
    package mutating func renewalRefused(now: MonotonicInstant, entropy: UInt64) {
        isRenewing = false
        pausedUntil = now + Self.refusalPause + Self.spread(Self.refusalPause / 4, entropy)
    }

    /// Records that the provider refused a request because of this token.
    package mutating func refused(_ token: AccessToken, now: MonotonicInstant) -> Refusal {
        // A late answer to a token that was replaced meanwhile says nothing new, nor does the second one of a batch.
        guard token == current, !isRefused else { return .known }
        isRefused = true
        guard replacesRefused, now - token.askedAt <= Self.provingTime else { return .toRenew }
        pausedUntil = now + Self.refusalPause
        return .again
    }

    private static func end(of token: AccessToken) -> MonotonicInstant {
        token.askedAt + (token.lifetime - min(safetyMargin, token.lifetime / 10))
    }

    private static func spread(_ width: Duration, _ entropy: UInt64) -> Duration {
        .nanoseconds(width.wholeNanoseconds * Int64(entropy % 1_024) / 1_024)
    }
}
