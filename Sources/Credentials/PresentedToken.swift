import Basis
import Lanes
import ProviderInterface

/// The provider token that lanes read, and the generation of its presentation.
///
/// A value without a clock. By the rising generation, an answer is matched with the token that its request carried.
package struct PresentedToken: Sendable {
    private var cache: ProviderTokenCache
    private var token: ProviderToken?
    private var generation: UInt64 = 0
    /// The first generation that carried `token`.
    private var tokenSince: UInt64 = 0
    /// nil: there is no token that the provider would take; lanes wait.
    package private(set) var authorization: Authorization?
    /// The last failure since a token was usable.
    private var failure: String?

    package init(_ lifetime: ProviderTokenLifetime) { cache = ProviderTokenCache(lifetime) }

    /// Why there is no token that the provider would take, in its words if it gave a reason; nil: there is one, or none
    /// failed yet.
    package var trouble: String? { authorization == nil ? failure : nil }

    /// Returns the next step. The caller must end a requested renewal with `adopt` or `renewalFailed`.
    package mutating func next(now: MonotonicInstant, wall: WallInstant) -> ProviderTokenCache.Next {
        let next = cache.next(now: now, wall: wall)
        switch next {
        case .use(let token), .useAndRenew(let token, _):
            if authorization == nil { present(token) }
        case .renew, .wait:
            // Lanes must not go on with a token that is too old or refused.
            authorization = nil
        }
        return next
    }

    /// Takes the token of a renewal. It may be another process's, or the same as before.
    package mutating func adopt(_ token: ProviderToken, now: MonotonicInstant) {
        cache.adopt(token, now: now)
        if token != self.token {
            self.token = token
            tokenSince = generation + 1
            present(token)
        }
    }

    package mutating func renewalFailed(_ reason: String, now: MonotonicInstant) {
        failure = reason
        cache.renewalFailed(now: now)
    }

    /// Records that requests of that generation were refused, because the token is too old. The many late answers to a
    /// token replaced meanwhile are ignored.
    /// - Parameter reason: the provider's.
    package mutating func refusedAsExpired(
        _ refused: UInt64, reason: String, now: MonotonicInstant, wall: WallInstant
    ) -> ProviderTokenCache.Refusal {
        guard let token, refused >= tokenSince else { return .known }
        failure = reason
        return cache.refusedAsExpired(token, now: now, wall: wall)
    }

    /// Gives the same token a new generation, because connections that carried it so far are unusable.
    package mutating func presentAnew() {
        if authorization != nil, let token { present(token) }
    }

    private mutating func present(_ token: ProviderToken) {
        generation += 1
        failure = nil
        authorization = Authorization(value: token.authorization, generation: generation)
    }
}
