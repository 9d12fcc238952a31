import APNs
import Logging
import PushModel
import Reactor
import Signing
import Store
import Synchronization
import Transport

/// One key's provider token: one for all processes, kept in the database, sealed; renewed before it is too old.
///
/// Lanes read `current` on their threads; `freshen` is called as often as anybody likes.
package final class ProviderTokenKeeper: AuthorizationSource, Sendable {
    private struct State {
        var cache = ProviderTokenCache()
        var token: ProviderToken?
        var authorization: Authorization?
        /// Rises with each value, and where connections have to be told apart for another reason.
        var generation: UInt64 = 0

        mutating func present(_ token: ProviderToken) {
            generation += 1
            authorization = Authorization(value: token.authorization, generation: generation)
        }
    }

    private let identity: APNsKeyIdentity
    private let key: ES256Key
    private let fingerprint: [UInt8]
    private let store: CredentialStore
    private let vault: Vault
    private let log: Logger
    private let state = Mutex(State())

    init(
        identity: APNsKeyIdentity, key: ES256Key, store: CredentialStore, vault: Vault, log: Logger
    ) throws(SigningError) {
        self.identity = identity
        self.key = key
        self.store = store
        self.vault = vault
        self.log = log
        fingerprint = Hashes.sha256(Array("\(identity.teamID)/\(identity.keyID)/".utf8) + (try key.publicPEM()))
    }

    package var current: Authorization? { state.withLock { $0.authorization } }

    /// Returns when there is a token to use, or the attempt to get one is over.
    package func freshen() async {
        let next = state.withLock { $0.cache.next(now: Clocks.wallNow()) }
        switch next {
        case .use: return
        case .useAndRenew(_, let staleBefore), .renew(let staleBefore): await renew(staleBefore: staleBefore)
        case .wait:
            // There is none that APNs would take: lanes must not go on with the old one.
            state.withLock { $0.authorization = nil }
        }
    }

    /// The token in use was answered with `ExpiredProviderToken`.
    package func refusedAsExpired() async {
        let isClockSuspected = state.withLock { state in
            guard let token = state.token else { return false }
            return state.cache.refusedAsExpired(token, now: Clocks.wallNow())
        }
        if isClockSuspected {
            log.error(
                "APNs calls a young provider token too old: this machine's clock, or Apple's view of it, is wrong",
                metadata: ["key": "\(identity.keyID)"])
        }
        await freshen()
    }

    /// The token is good, but not on the connections that are open: another key bound them first.
    package func needsNewConnections() {
        state.withLock { state in
            if state.authorization != nil, let token = state.token { state.present(token) }
        }
    }

    private func renew(staleBefore: WallInstant) async {
        do {
            let sealed = try await store.renewProviderToken(fingerprint: fingerprint, staleBefore: staleBefore) {
                [self] in sign()
            }
            guard let sealed else { throw VaultError.sealingFailed }
            let text = try vault.open(sealed.sealed, purpose: purpose)
            adopt(ProviderToken(text: text, issuedAt: sealed.issuedAt))
        } catch {
            state.withLock { $0.cache.renewalFailed(now: Clocks.wallNow()) }
            log.warning(
                "A provider token could not be renewed; trying again",
                metadata: ["key": "\(identity.keyID)", "fault": "\(error)"])
        }
    }

    private var purpose: String { "provider-token/\(identity.teamID)/\(identity.keyID)" }

    private func sign() -> SealedProviderToken? {
        let now = Clocks.wallNow()
        let input = ProviderTokenText.signingInput(identity: identity, issuedAt: now)
        guard let signature = try? key.sign(input) else { return nil }
        let token = ProviderTokenText.assemble(signingInput: input, signature: signature, issuedAt: now)
        guard let sealed = try? vault.seal(token.text, purpose: purpose) else { return nil }
        return SealedProviderToken(sealed: sealed, issuedAt: token.issuedAt)
    }

    private func adopt(_ token: ProviderToken) {
        state.withLock { state in
            state.cache.adopt(token)
            guard token != state.token || state.authorization == nil else { return }
            state.token = token
            state.present(token)
        }
    }
}

extension CredentialKeeper {
    /// nil: key or team id are malformed; submissions are checked, so that only a damaged row can be.
    package func providerToken(keyID: String, teamID: String, key: ES256Key, log: Logger) -> ProviderTokenKeeper? {
        guard let identity = APNsKeyIdentity(keyID: keyID, teamID: teamID) else { return nil }
        return try? ProviderTokenKeeper(identity: identity, key: key, store: store, vault: vault, log: log)
    }
}
