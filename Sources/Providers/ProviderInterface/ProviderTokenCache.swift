import Basis

/// Decides when a key's provider token is used, and when the next one is fetched. The caller signs and stores.
///
/// The provider says how long it takes a token (`ProviderTokenLifetime`). All processes share one token per key in the
/// database. So "renew" means: take one from there that is young enough, else sign.
///
/// A token's age counts on the machine's clock, as the provider reads it. All waits count on the monotonic clock, so that none
/// depends on a clock that is set.
package struct ProviderTokenCache: Equatable, Sendable {
    /// The pause after a renewal that failed.
    package static let failurePause: Duration = .seconds(5)

    package enum Next: Equatable, Sendable {
        case use(ProviderToken)
        /// Use the token, and fetch the next one, issued after `staleBefore`.
        case useAndRenew(ProviderToken, staleBefore: WallInstant)
        /// There is no usable token until one issued after `staleBefore` is fetched.
        case renew(staleBefore: WallInstant)
        /// There is no usable token, and nothing to do before this instant; nil while a renewal is under way.
        case wait(until: MonotonicInstant?)
    }

    package enum Refusal: Equatable, Sendable {
        /// Another token is in use already, or on its way: the push is simply sent again.
        case known
        /// The token is not used any more; `next` asks for another. `isYoung`: it was not old by our clock. That clock
        /// is wrong, here or where the token was signed, and an operator should look at it.
        case toRenew(isYoung: Bool)
        /// The token is too young to be replaced, so it stays in use until it may be. At times a good token is
        /// refused. If it goes on, a clock is wrong.
        case kept
    }

    private let lifetime: ProviderTokenLifetime
    private var current: ProviderToken?
    /// When the current token arrived here.
    private var adoptedAt = MonotonicInstant(nanoseconds: .min)
    /// The latest refusal of the current token; nil: the provider did not refuse it.
    private var refusal: Refusal?
    /// A renewal is under way; there is one at a time.
    private var isRenewing = false
    private var pausedUntil: MonotonicInstant?

    package init(_ lifetime: ProviderTokenLifetime) { self.lifetime = lifetime }

    /// Returns the next step, before each batch. The caller must end a requested renewal with `adopt` or
    /// `renewalFailed`.
    package mutating func next(now: MonotonicInstant, wall: WallInstant) -> Next {
        let youngSince = wall - lifetime.renewalAge
        guard let token = current else { return renewal(staleBefore: youngSince, now, elseUse: nil) }
        let age = wall - token.issuedAt
        switch refusal {
        case .toRenew: return renewal(staleBefore: token.issuedAt, now, elseUse: nil)
        case .kept where mayBeReplaced(token, now, wall):
            return renewal(staleBefore: token.issuedAt, now, elseUse: token)
        case .kept, .known, nil: break
        }
        // A token from the far future would seem young and be handed out again: only a later one is accepted.
        if age < .zero - lifetime.clockSkewMax { return renewal(staleBefore: token.issuedAt, now, elseUse: nil) }
        if age >= lifetime.ageMax { return renewal(staleBefore: youngSince, now, elseUse: nil) }
        if age < lifetime.renewalAge { return .use(token) }
        return renewal(staleBefore: youngSince, now, elseUse: token)
    }

    /// Whether the provider takes another token. It does not matter how far the issue time is ahead of our clock.
    private func mayBeReplaced(_ token: ProviderToken, _ now: MonotonicInstant, _ wall: WallInstant) -> Bool {
        wall - token.issuedAt >= lifetime.renewalsApartMin || now - adoptedAt >= lifetime.renewalsApartMin
    }

    private mutating func renewal(
        staleBefore: WallInstant, _ now: MonotonicInstant, elseUse token: ProviderToken?
    ) -> Next {
        if isRenewing { return token.map { .use($0) } ?? .wait(until: nil) }
        if let pausedUntil, now < pausedUntil { return token.map { .use($0) } ?? .wait(until: pausedUntil) }
        isRenewing = true
        return token.map { .useAndRenew($0, staleBefore: staleBefore) } ?? .renew(staleBefore: staleBefore)
    }

    /// Takes the token of a renewal. It may be another process's.
    package mutating func adopt(_ token: ProviderToken, now: MonotonicInstant) {
        isRenewing = false
        pausedUntil = nil
        guard token != current else { return }
        (current, adoptedAt, refusal) = (token, now, nil)
    }

    package mutating func renewalFailed(now: MonotonicInstant) {
        isRenewing = false
        pausedUntil = now + Self.failurePause
    }

    /// Records that the provider refused this token as too old, or too new.
    package mutating func refusedAsExpired(
        _ token: ProviderToken, now: MonotonicInstant, wall: WallInstant
    ) -> Refusal {
        // An old connection's answer to a token that was replaced meanwhile says nothing new.
        guard token == current else { return .known }
        if case .toRenew = refusal { return .known }
        let isYoung = wall - token.issuedAt < lifetime.renewalAge
        let found: Refusal = mayBeReplaced(token, now, wall) ? .toRenew(isYoung: isYoung) : .kept
        refusal = found
        return found
    }
}

extension WallInstant {
    fileprivate static func - (instant: WallInstant, duration: Duration) -> WallInstant { instant + (.zero - duration) }
}
