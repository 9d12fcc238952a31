import Basis

/// Decides when a key's provider token is used, and when the next one is fetched. The caller signs and stores.
///
/// The times are APNs', the only provider with such tokens. It takes a token for 60 minutes after its `iat`, and no new
/// one within 20 minutes of the last. All processes share one token per key in the database. So "renew" means: take one
/// from there that is young enough, else sign.
package struct ProviderTokenCache: Equatable, Sendable {
    /// From this age on the next token is fetched, while this one is still used.
    package static let renewalAge: Duration = .seconds(50 * 60)
    /// From this age on the token is not used: a minute before APNs would refuse it.
    package static let ageMax: Duration = .seconds(59 * 60)
    /// After a shorter time APNs answers `TooManyProviderTokenUpdates`.
    package static let renewalsApartMin: Duration = .seconds(20 * 60)
    /// A token from a machine whose clock is ahead of ours by up to this is used. APNs takes an issue time within an
    /// hour of its own clock, and one token for all processes is worth more than a true time.
    package static let clockSkewMax: Duration = .seconds(59 * 60)
    /// The pause after a renewal that failed.
    package static let failurePause: Duration = .seconds(5)

    package enum Next: Equatable, Sendable {
        case use(ProviderToken)
        /// Use the token, and fetch the next one, issued after `staleBefore`.
        case useAndRenew(ProviderToken, staleBefore: WallInstant)
        /// There is no usable token until one issued after `staleBefore` is fetched.
        case renew(staleBefore: WallInstant)
        /// There is no usable token, and nothing to do before this instant; nil while a renewal is under way.
        case wait(until: WallInstant?)
    }

    private var current: ProviderToken?
    /// APNs called the current token too old, whatever its age by our clock.
    private var isRefused = false
    /// A renewal is under way; there is one at a time.
    private var isRenewing = false
    private var pausedUntil: WallInstant?

    package init() {}

    /// Returns the next step, before each batch. The caller must end a requested renewal with `adopt` or
    /// `renewalFailed`.
    package mutating func next(now: WallInstant) -> Next {
        guard let token = current else { return renewal(staleBefore: now - Self.renewalAge, now, elseUse: nil) }
        let age = now - token.issuedAt
        if isRefused {
            let earliest = token.issuedAt + Self.renewalsApartMin
            // An issue time ahead of our clock must not keep us waiting longer than the rule itself would.
            let until = min(earliest, now + Self.renewalsApartMin)
            return now < until ? .wait(until: until) : renewal(staleBefore: token.issuedAt, now, elseUse: nil)
        }
        // A token from the far future would seem young and be handed out again: only a later one is accepted.
        if age < .zero - Self.clockSkewMax { return renewal(staleBefore: token.issuedAt, now, elseUse: nil) }
        if age >= Self.ageMax { return renewal(staleBefore: now - Self.renewalAge, now, elseUse: nil) }
        if age < Self.renewalAge { return .use(token) }
        return renewal(staleBefore: now - Self.renewalAge, now, elseUse: token)
    }

    private mutating func renewal(staleBefore: WallInstant, _ now: WallInstant, elseUse token: ProviderToken?) -> Next {
        if isRenewing { return token.map { .use($0) } ?? .wait(until: nil) }
        // A pause that ends beyond its own length means that the clock stepped back.
        if let pausedUntil, now < pausedUntil, pausedUntil <= now + Self.failurePause {
            return token.map { .use($0) } ?? .wait(until: pausedUntil)
        }
        isRenewing = true
        return token.map { .useAndRenew($0, staleBefore: staleBefore) } ?? .renew(staleBefore: staleBefore)
    }

    /// Takes the token of a renewal. It may be another process's.
    package mutating func adopt(_ token: ProviderToken) {
        isRenewing = false
        pausedUntil = nil
        if token != current { isRefused = false }
        current = token
    }

    package mutating func renewalFailed(now: WallInstant) {
        isRenewing = false
        pausedUntil = now + Self.failurePause
    }

    /// Records that APNs answered `ExpiredProviderToken` to this token. Returns true if it was young by our clock.
    /// Then the clock is wrong, here or where the token was signed, and an operator should look at it.
    package mutating func refusedAsExpired(_ token: ProviderToken, now: WallInstant) -> Bool {
        // An old connection's answer to a token that was replaced meanwhile says nothing new.
        guard token == current else { return false }
        isRefused = true
        return now - token.issuedAt < Self.renewalAge
    }
}

extension WallInstant {
    fileprivate static func - (instant: WallInstant, duration: Duration) -> WallInstant { instant + (.zero - duration) }
}
