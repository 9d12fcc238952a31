import Basis
import Credentials
import Expressions
import JSON
import Model
import Reactor
import Store
import Synchronization
import WakeUpRules

/// Says who may read which node of an app's tree.
///
/// Rules and keys are cached for a moment, so a change of them holds on every process within `freshFor`, and at once on
/// the process that made it.
package final class ReadAccess: Sendable {
    package static let freshFor: Duration = .seconds(1)
    private static let appsMax = 1_000

    private struct Known {
        let access: AppAccess
        let until: MonotonicInstant
    }

    /// The rules and keys of one app, ready to be used.
    private struct AppAccess: Sendable {
        let rules: ReadRules
        let keys: [UserTokenKey]
    }

    private let store: AccessStore
    private let vault: Vault
    private let clock: @Sendable () -> WallInstant
    private let cache = Mutex(Cache())

    private struct Cache {
        var known: [AppID: Known] = [:]  // lookup only
        /// The number of changes on this process. What was read before one is not kept.
        var changes = 0
    }

    package init(store: AccessStore, vault: Vault, clock: @escaping @Sendable () -> WallInstant) {
        (self.store, self.vault, self.clock) = (store, vault, clock)
    }

    /// A user, as its token tells.
    package struct User: Sendable {
        /// The claim `sub`; empty if the token names no user.
        package let subject: String
        package let claims: JSONValue
    }

    /// Reads a user's token. nil: it is not valid for this app.
    package func user(token: String, app: AppID) async throws(StoreFault) -> User? {
        let access = try await access(of: app)
        do throws(UserTokenFault) {
            let token = try UserToken(verifying: token, keys: access.keys, now: clock())
            return User(subject: token.subject ?? "", claims: token.claims)
        } catch { return nil }
    }

    /// Whether a user may read a node now.
    /// - Parameter user: nil: nobody in particular.
    package func mayRead(_ path: NodePath, user: User?, app: AppID) async throws(StoreFault) -> Bool {
        let rules = try await access(of: app).rules
        let (keys, now) = (path.keys, clock())
        let lookups = rules.lookups(at: keys, auth: user?.claims, now: now)
        // Claims may be any text. At a path that can't be in a tree there is nothing.
        let paths = lookups.compactMap { try? NodePath($0) }
        let read = try await store.values(at: paths, app: app)
        let values = Dictionary(zip(paths, read)) { first, _ in first }
        return rules.mayRead(keys, auth: user?.claims, now: now) { keys in
            (try? NodePath(keys)).flatMap { values[$0] } ?? .null
        }
    }

    /// The claims of a user that the app's rules name, as JSON: what a subscription keeps.
    package func claimsKept(of user: User, app: AppID) async throws(StoreFault) -> [UInt8] {
        guard case .only(let names) = try await access(of: app).rules.claims, let claims = user.claims.object else {
            return user.claims.bytes
        }
        let kept = claims.members.filter { member in
            member.name == "sub" || names.contains { $0.hasSameBytes(as: member.name) }
        }
        return JSONValue.object(JSONObject(kept)).bytes
    }

    /// Forgets what is cached of an app, after a change on this process.
    package func forget(_ app: AppID) {
        cache.withLock { cache in
            cache.known[app] = nil
            cache.changes += 1
        }
    }

    private func access(of app: AppID) async throws(StoreFault) -> AppAccess {
        let now = Clocks.monotonicNow()
        let (known, changes) = cache.withLock { ($0.known[app], $0.changes) }
        if let known, now < known.until { return known.access }
        let stored = try await store.access(of: app)
        let access = AppAccess(rules: Self.rules(stored.rules), keys: stored.keys.compactMap { open($0, app) })
        cache.withLock { cache in
            guard cache.changes == changes else { return }
            if cache.known.count >= Self.appsMax { cache.known = [:] }
            cache.known[app] = Known(access: access, until: now + Self.freshFor)
        }
        return access
    }

    /// Rules that can't be read let nobody in.
    private static func rules(_ stored: AccessStore.Rules?) -> ReadRules {
        guard let stored, let value = try? JSONReader.read(Array(stored.source.utf8), limits: .trusted) else {
            return .none
        }
        return (try? ReadRules.read(value)) ?? .none
    }

    private func open(_ key: AccessStore.UserKey, _ app: AppID) -> UserTokenKey? {
        guard let algorithm = UserTokenAlgorithm(rawValue: key.algorithm),
            let text = try? vault.open(key.sealed, purpose: Self.purpose(key.kid, app))
        else { return nil }
        return try? UserTokenKey(
            kid: key.kid, algorithm: algorithm, submitted: String(decoding: text, as: UTF8.self))
    }

    private static func purpose(_ kid: String, _ app: AppID) -> String { "user token key \(app.value) \(kid)" }
}

extension ReadAccess {
    package enum KeyReply: Equatable, Sendable {
        case added
        case kidTaken
        case tooMany
    }

    /// Seals and stores a key that verifies users' tokens.
    ///
    /// - Parameter submitted: the text that `UserTokenKey` has read.
    package func add(
        _ key: UserTokenKey, submitted: String, app: AppID
    ) async throws(StoreFault) -> KeyReply {
        guard let sealed = try? vault.seal(Array(submitted.utf8), purpose: Self.purpose(key.kid, app)) else {
            throw .damaged("the vault seals nothing")
        }
        defer { forget(app) }
        do throws(StoreFault) {
            let isAdded = try await store.addKey(
                kid: key.kid, algorithm: key.algorithm.rawValue, sealed: sealed, app: app)
            return isAdded ? .added : .tooMany
        } catch {
            guard case .conflict = error else { throw error }
            return .kidTaken
        }
    }

    package func removeKey(kid: String, app: AppID) async throws(StoreFault) -> Bool {
        defer { forget(app) }
        return try await store.removeKey(kid: kid, app: app)
    }

    package func keys(of app: AppID) async throws(StoreFault) -> [AccessStore.UserKey] {
        try await store.access(of: app).keys
    }

    package func rules(of app: AppID) async throws(StoreFault) -> AccessStore.Rules? {
        try await store.access(of: app).rules
    }

    /// - Parameter source: JSON that `ReadRules` has read.
    package func setRules(_ source: [UInt8], app: AppID) async throws(StoreFault) {
        defer { forget(app) }
        try await store.setRules(String(decoding: source, as: UTF8.self), of: app)
    }
}
