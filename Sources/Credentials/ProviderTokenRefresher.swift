import Basis
import Lanes
import Logging
import ProviderInterface
import Reactor
import Signing
import Store
import Synchronization

/// One key's provider token, shared by all processes: kept sealed in the database, renewed before it is too old.
///
/// Lanes read `current` on their threads; `freshen` may be called at any time.
package final class ProviderTokenRefresher: AuthorizationSource, Sendable {
    private let source: any ProviderTokenSource
    private let fingerprint: [UInt8]
    private let store: CredentialStore
    private let vault: Vault
    private let log: Logger
    private let presented: Mutex<PresentedToken>

    init(_ source: any ProviderTokenSource, store: CredentialStore, vault: Vault, log: Logger) throws(KeyFault) {
        (self.source, self.store, self.vault, self.log) = (source, store, vault, log)
        presented = Mutex(PresentedToken(source.lifetime))
        fingerprint = Hashes.sha256(Array("\(source.name)/".utf8) + (try source.publicPEM()))
    }

    package var current: Authorization? { presented.withLock { $0.authorization } }

    /// Why there is no token, in the provider's words if it gave a reason.
    package var trouble: String? { presented.withLock { $0.trouble } }

    /// Returns when there is a token to use, or when the attempt to get one is over.
    package func freshen() async {
        switch presented.withLock({ $0.next(now: Clocks.monotonicNow(), wall: Clocks.wallNow()) }) {
        case .use, .wait: return
        case .useAndRenew(_, let staleBefore), .renew(let staleBefore): await renew(staleBefore: staleBefore)
        }
    }

    /// Records that requests with the authorization of that generation were refused, because the token is too old.
    /// - Parameter reason: the provider's.
    package func refusedAsExpired(_ generation: UInt64, reason: String) async -> ProviderTokenCache.Refusal {
        let refusal = presented.withLock {
            $0.refusedAsExpired(generation, reason: reason, now: Clocks.monotonicNow(), wall: Clocks.wallNow())
        }
        if refusal == .toRenew(isYoung: true) {
            log.error(
                "\(source.provider) rejects a new provider token as expired: check this machine's clock",
                metadata: ["key": "\(source.keyID)", "reason": "\(reason)"])
        }
        await freshen()
        return refusal
    }

    /// Records that the open connections are unusable with this token, because another key bound them first.
    package func needsNewConnections() { presented.withLock { $0.presentAnew() } }

    private func renew(staleBefore: WallInstant) async {
        do {
            let sealed = try await store.renewProviderToken(fingerprint: fingerprint, staleBefore: staleBefore) {
                [self] in sign()
            }
            guard let sealed else { throw VaultError.sealingFailed }
            let text = try vault.open(sealed.sealed, purpose: purpose)
            let token = ProviderToken(text: text, issuedAt: sealed.issuedAt)
            presented.withLock { $0.adopt(token, now: Clocks.monotonicNow()) }
        } catch {
            presented.withLock {
                $0.renewalFailed("a token could not be renewed: \(error)", now: Clocks.monotonicNow())
            }
            // The database's watch reports an outage once.
            log.log(
                level: error as? StoreFault == .unavailable ? .debug : .warning,
                "A provider token could not be renewed; trying again",
                metadata: ["key": "\(source.keyID)", "fault": "\(error)"])
        }
    }

    private var purpose: String { "provider-token/\(source.name)" }

    private func sign() -> SealedProviderToken? {
        guard let token = try? source.token(issuedAt: Clocks.wallNow()) else { return nil }
        guard let sealed = try? vault.seal(token.text, purpose: purpose) else { return nil }
        return SealedProviderToken(sealed: sealed, issuedAt: token.issuedAt)
    }
}

extension CredentialService {
    package func providerToken(
        _ source: any ProviderTokenSource, log: Logger
    ) throws(KeyFault) -> ProviderTokenRefresher {
        try ProviderTokenRefresher(source, store: store, vault: vault, log: log)
    }
}
