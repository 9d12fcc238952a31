import APNs
import Basis
import Lanes

/// The provider token that lanes read, and which signing of it this is.
///
/// A value without a clock. Generations rise with each token, and where connections have to be told apart for another
/// reason, so that an answer can be held against the token that its request carried.
package struct PresentedToken: Sendable {
    private var cache = ProviderTokenCache()
    private var token: ProviderToken?
    private var generation: UInt64 = 0
    /// The first that carried `token`.
    private var tokenSince: UInt64 = 0
    /// nil: there is none that APNs would take; lanes wait.
    package private(set) var authorization: Authorization?

    package init() {}

    /// What is to be done now. A renewal that it asks for has to end in `adopt` or `renewalFailed`.
    package mutating func next(now: WallInstant) -> ProviderTokenCache.Next {
        let next = cache.next(now: now)
        switch next {
        case .use(let token), .useAndRenew(let token, _):
            if authorization == nil { present(token) }
        case .renew, .wait:
            // Lanes must not go on with one that is too old, or refused.
            authorization = nil
        }
        return next
    }

    /// A renewal ended well. The token may be another process's, or the same again.
    package mutating func adopt(_ token: ProviderToken) {
        cache.adopt(token)
        if token != self.token {
            self.token = token
            tokenSince = generation + 1
            present(token)
        }
    }

    package mutating func renewalFailed(now: WallInstant) { cache.renewalFailed(now: now) }

    /// Requests of that generation were answered with `ExpiredProviderToken`. True where the token was young: a clock
    /// is wrong. Answers to a token that was replaced meanwhile, of which a thousand may still come, say nothing.
    package mutating func refusedAsExpired(_ refused: UInt64, now: WallInstant) -> Bool {
        guard let token, refused >= tokenSince else { return false }
        return cache.refusedAsExpired(token, now: now)
    }

    /// The token is good, but not on connections that carried it so far.
    package mutating func presentAnew() {
        if authorization != nil, let token { present(token) }
    }

    private mutating func present(_ token: ProviderToken) {
        generation += 1
        authorization = Authorization(value: token.authorization, generation: generation)
    }
}
