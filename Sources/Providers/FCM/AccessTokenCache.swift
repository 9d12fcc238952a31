import Basis

/// When an account's access token is used, and when the next one is asked for. Decides; the caller signs and asks.
///
/// Each process has its own: to ask often is harmless, only slow. All times are of the clock that never steps.
package struct FCMAccessTokenCache: Equatable, Sendable {
    /// So long before its end the next one is asked for, while this one still serves.
    package static let renewalLead: Duration = .seconds(300)
    /// In its last seconds it is not used: a request takes a while to get there.
    package static let safetyMargin: Duration = .seconds(30)
    /// After one failure; doubles with each further one, up to the longest.
    package static let failurePause: Duration = .seconds(1)
    package static let failurePauseMax: Duration = .seconds(300)
    /// After a refusal that only a person can mend. A new key file is a new cache; this is for what is mended at Google.
    package static let refusalPause: Duration = .seconds(60)
    /// A token that replaced a refused one and is refused at this age or younger was not too old.
    package static let provingTime: Duration = .seconds(10)

    package enum Next: Equatable, Sendable {
        case use(FCMAccessToken)
        /// Use it, and ask for the next.
        case useAndRenew(FCMAccessToken)
        /// None to use until one is fetched.
        case renew
        /// None to use, and nothing to be done before this instant; nil while a renewal is under way.
        case wait(until: MonotonicInstant?)
    }

    /// What a 401 for a token means.
    package enum Refusal: Equatable, Sendable {
        /// Another one serves already, or is on its way: the push is simply sent again.
        case known
        /// It is not used any more; `next` asks for another, once.
        case toRenew
        /// Its successor, just fetched, is refused too: this is not about age. A person should look; `next` waits.
        case again
    }

    private var current: FCMAccessToken?
    private var renewAt: MonotonicInstant?
    /// FCM refused the current one, whatever its age.
    private var isRefused = false
    /// The current one was fetched in place of a refused one.
    private var replacesRefused = false
    /// A renewal is under way: there is one at a time.
    private var isRenewing = false
    private var failures = 0
    private var pausedUntil: MonotonicInstant?

    package init() {}

    /// Asked before each batch. A renewal that it asks for has to end in `adopt`, `renewalFailed` or `renewalRefused`.
    package mutating func next(now: MonotonicInstant) -> Next {
        guard let token = current, !isRefused, now < Self.end(of: token) else { return renewal(now, elseUse: nil) }
        if let renewAt, now < renewAt { return .use(token) }
        return renewal(now, elseUse: token)
    }

    /// What requests may carry until `next` says otherwise; nil while the only one is refused.
    package var serving: FCMAccessToken? { isRefused ? nil : current }

    private mutating func renewal(_ now: MonotonicInstant, elseUse token: FCMAccessToken?) -> Next {
        if isRenewing { return token.map { .use($0) } ?? .wait(until: nil) }
        if let pausedUntil, now < pausedUntil { return token.map { .use($0) } ?? .wait(until: pausedUntil) }
        isRenewing = true
        return token.map { .useAndRenew($0) } ?? .renew
    }

    /// A renewal ended well. `entropy` spreads the next one, so that processes that began together don't stay so.
    package mutating func adopt(_ token: FCMAccessToken, entropy: UInt64) {
        isRenewing = false
        failures = 0
        pausedUntil = nil
        if token.text == current?.text, isRefused {
            // The very one that was refused: no use to hurry.
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

    /// No answer, or one that passes. `after`: not sooner than that, by the answer's word.
    package mutating func renewalFailed(now: MonotonicInstant, after: Duration? = nil, entropy: UInt64) {
        isRenewing = false
        var pause = Self.failurePause
        for _ in 0..<min(failures, 16) { pause = min(pause * 2, Self.failurePauseMax) }
        failures += 1
        pause = max(pause, min(after ?? .zero, Self.failurePauseMax))
        pausedUntil = now + pause + Self.spread(pause / 4, entropy)
    }

    /// The account itself was refused.
    package mutating func renewalRefused(now: MonotonicInstant, entropy: UInt64) {
        isRenewing = false
        pausedUntil = now + Self.refusalPause + Self.spread(Self.refusalPause / 4, entropy)
    }

    /// FCM answered 401 UNAUTHENTICATED to a request that carried this token.
    package mutating func refused(_ token: FCMAccessToken, now: MonotonicInstant) -> Refusal {
        // A late answer to one that was replaced meanwhile says nothing new; nor does the second of a batch.
        guard token == current, !isRefused else { return .known }
        isRefused = true
        guard replacesRefused, now - token.askedAt <= Self.provingTime else { return .toRenew }
        pausedUntil = now + Self.refusalPause
        return .again
    }

    private static func end(of token: FCMAccessToken) -> MonotonicInstant {
        token.askedAt + (token.lifetime - min(safetyMargin, token.lifetime / 10))
    }

    /// 0 to just under `width`.
    private static func spread(_ width: Duration, _ entropy: UInt64) -> Duration {
        .nanoseconds(width.wholeNanoseconds * Int64(entropy % 1_024) / 1_024)
    }
}
