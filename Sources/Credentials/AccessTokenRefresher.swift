import Basis
import Lanes
import Logging
import Model
import ProviderInterface
import Reactor
import Synchronization

/// One account's access token: fetched when needed, renewed before it ends, one request at a time.
///
/// Lanes read `current` on their threads. Each process may have a token of its own, so nothing is shared.
package final class AccessTokenRefresher: AuthorizationSource, Sendable {
    /// An app's accounts name their own token endpoints. However slow these are, the app has no more fetches at once.
    package static let fetchesPerAppMax = 2

    private let source: any AccessTokenSource
    private let app: AppID
    private let fetches: AppSlots
    private let endpoint: any TokenEndpoint
    private let log: Logger
    private let presented = Mutex(Presented())

    private struct Presented {
        var cache = AccessTokenCache()
        var token: AccessToken?
        /// The header value for `token`; nil: there is no usable token.
        var authorization: Authorization?
        var generation: UInt64 = 0
        /// The last failure since a token was usable.
        var trouble: String?
    }

    /// - Parameter fetches: the slots of the process, `fetchesPerAppMax` for each app.
    package init(
        _ source: any AccessTokenSource, of app: AppID, fetches: AppSlots, endpoint: any TokenEndpoint, log: Logger
    ) { (self.source, self.app, self.fetches, self.endpoint, self.log) = (source, app, fetches, endpoint, log) }

    package var current: Authorization? { presented.withLock { $0.authorization } }

    /// Why there is no token, in the provider's words if it gave a reason; nil: there is one, or none failed yet.
    package var trouble: String? { presented.withLock { $0.authorization == nil ? $0.trouble : nil } }

    package enum Status: Equatable, Sendable {
        case ready
        /// There is no token, and one is being fetched.
        case fetching
        /// There is no token, and none is fetched before a pause is over.
        case refused
    }

    /// Fetches a token, or renews one that ends soon. Returns at once; `arrived` is called after a success.
    package func freshen(arrived: @escaping @Sendable () async -> Void) -> Status {
        let (status, shouldFetch) = presented.withLock { state -> (Status, Bool) in
            switch state.cache.next(now: Clocks.monotonicNow()) {
            case .use: return (.ready, false)
            case .useAndRenew: return (.ready, true)
            case .renew:
                state.authorization = nil
                return (.fetching, true)
            case .wait(let until):
                state.authorization = nil
                return (until == nil ? .fetching : .refused, false)
            }
        }
        if shouldFetch {
            Task { [self] in
                // Without a limit on the fetches that wait, none is turned away.
                if await fetches.run(for: app, { await self.fetch() }) ?? false { await arrived() }
            }
        }
        return status
    }

    /// Discards the token of that generation, because the provider refused a request with it.
    package func refused(
        _ generation: UInt64, quoting quote: AnswerQuote, arrived: @escaping @Sendable () async -> Void
    ) {
        let refusal = presented.withLock { state -> AccessTokenCache.Refusal in
            // A late answer to a token that was replaced meanwhile says nothing new.
            guard let token = state.token, state.generation == generation else { return .known }
            let refusal = state.cache.refused(token, now: Clocks.monotonicNow())
            if refusal != .known { (state.authorization, state.trouble) = (nil, quote.reason) }
            return refusal
        }
        switch refusal {
        case .known: break
        case .toRenew: _ = freshen(arrived: arrived)
        case .again:
            log.error(
                "\(source.provider) rejects a new access token: check the account's permissions",
                metadata: [
                    "account": "\(source.account)", "reason": "\(quote.reason)",
                    "status": .stringConvertible(quote.status),
                ])
        }
    }

    /// Returns true if there is a new token.
    private func fetch() async -> Bool {
        let askedAt = Clocks.monotonicNow()
        do throws(AccessTokenFault) {
            let token = try await ask(askedAt)
            presented.withLock { state in
                let isNew = state.token?.text != token.text
                state.cache.adopt(token, entropy: Entropy.uint64())
                state.token = token
                if isNew { state.generation += 1 }
                // A renewal may return the refused token again; it stays unused.
                state.authorization = state.cache.serving.map {
                    Authorization(value: $0.authorization, generation: state.generation)
                }
                if state.authorization != nil { state.trouble = nil }
            }
            return true
        } catch {
            let now = Clocks.monotonicNow()
            presented.withLock { state in
                state.trouble = error.reason
                if error.isPermanent {
                    state.cache.renewalRefused(now: now, entropy: Entropy.uint64())
                } else {
                    state.cache.renewalFailed(now: now, after: error.after, entropy: Entropy.uint64())
                }
            }
            var metadata: Logger.Metadata = ["account": "\(source.account)", "fault": "\(error)"]
            if let quote = error.quote {
                metadata.merge(["reason": "\(quote.reason)", "status": .stringConvertible(quote.status)]) { own, _ in
                    own
                }
            }
            log.log(
                level: error.isPermanent ? .error : .warning, "An access token could not be fetched; trying again",
                metadata: metadata)
            return false
        }
    }

    private func ask(_ askedAt: MonotonicInstant) async throws(AccessTokenFault) -> AccessToken {
        let form: [UInt8]
        do throws(KeyFault) { form = try source.form(issuedAt: Clocks.wallNow()) } catch { throw .notSigned }
        let answer: TokenEndpointAnswer
        do { answer = try await endpoint.post(form: form, to: source.url) } catch { throw .endpoint(error) }
        let reading = source.read(
            status: answer.status, body: answer.body.span, retryAfter: answer.retryAfter.span, askedAt: askedAt,
            now: Clocks.wallNow())
        switch reading {
        case .granted(let token): return token
        case .refused(let reason, let alarm):
            throw .refused(AnswerQuote(status: UInt16(clamping: answer.status), reason: reason), alarm)
        case .failed(let reason, let after):
            throw .failed(AnswerQuote(status: UInt16(clamping: answer.status), reason: reason), after: after)
        }
    }
}

enum AccessTokenFault: Error, Equatable, CustomStringConvertible {
    case notSigned
    case endpoint(TokenEndpointFault)
    /// The same request would be refused again.
    case refused(AnswerQuote, ProviderAlarm)
    case failed(AnswerQuote, after: Duration?)

    /// True if another request soon would be refused too.
    var isPermanent: Bool {
        switch self {
        case .notSigned, .endpoint(.privateTarget), .endpoint(.unlistedHost), .endpoint(.malformedURL), .refused: true
        case .endpoint(.unreachable), .failed: false
        }
    }

    /// The earliest retry that the answer allows.
    var after: Duration? {
        if case .failed(_, let after) = self { after } else { nil }
    }

    /// nil: there was no answer.
    var quote: AnswerQuote? {
        switch self {
        case .refused(let quote, _), .failed(let quote, _): quote
        case .notSigned, .endpoint: nil
        }
    }

    /// The reason in the answer; without an answer, a description.
    var reason: String { quote?.reason ?? description }

    var description: String {
        switch self {
        case .notSigned: "the private key can't sign"
        case .endpoint(.privateTarget):
            "its token_uri leads to a private address (CARILLON_ALLOW_PRIVATE_TARGETS=true would allow that)"
        case .endpoint(.unlistedHost):
            "calls go through a proxy, and CARILLON_TOKEN_HOSTS does not list the host of its token_uri"
        case .endpoint(.malformedURL): "its token_uri is not an allowed URL"
        case .endpoint(.unreachable(let detail)): "its token_uri can't be reached: \(detail)"
        case .refused(let quote, .clock): "refused with \(quote.reason): this machine's clock is wrong"
        case .refused(let quote, _):
            "refused with \(quote.reason): the key was deleted, or the account lacks the permission to send"
        case .failed(let quote, _): "failed with \(quote.reason)"
        }
    }
}

extension CredentialService {
    package func accessToken(_ source: any AccessTokenSource, of app: AppID, log: Logger) -> AccessTokenRefresher {
        AccessTokenRefresher(source, of: app, fetches: tokenFetches, endpoint: tokenEndpoint, log: log)
    }
}
