import Basis
import Credentials
import Expressions
import JSON
import Model
import Reactor
import Store
import Synchronization
import WakeUpRules
import WakeUpStore

/// Says who may read which node of an app's tree.
///
/// Rules and keys are cached for a moment, so a change of them holds on every process within `freshFor`, and at once on
/// the process that made it. One reader at a time reads them for each app, and requests that come meanwhile share its
/// result. Rules are parsed once for each revision.
package final class ReadAccess: Sendable {
    package static let freshFor: Duration = .seconds(1)
    private static let appsMax = 1_000

    /// The rules and keys of one app, ready to be used.
    private struct AppAccess: Sendable {
        let rules: ReadRules
        let rulesRevision: Int64?
        let keys: [UserTokenKey]
        /// The keys as they are stored. Opening them again would take longer than anything else here.
        let storedKeys: [AccessStore.UserKey]
        let until: MonotonicInstant
    }

    private struct Reading {
        let number: Int
        let task: Task<Result<AppAccess, StoreFault>, Never>
    }

    private let store: AccessStore
    private let vault: Vault
    private let clock: @Sendable () -> WallInstant
    private let cache = Mutex(Cache())

    private struct Cache {
        var known: [AppID: AppAccess] = [:]  // lookup only
        /// The reading under way for each app. What was read before a change on this process is not kept, so a change
        /// removes it.
        var readings: [AppID: Reading] = [:]  // lookup only
        var lastReading = 0
    }

    package init(store: AccessStore, vault: Vault, clock: @escaping @Sendable () -> WallInstant) {
        (self.store, self.vault, self.clock) = (store, vault, clock)
    }

    /// A user, as its token names it.
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
        try await mayRead(path, user, app, try await access(of: app).rules)
    }

    /// The right of a user to subscribe to a node.
    package struct SubscriptionPermit: Sendable {
        /// The claims of the user that the subscription keeps, as JSON. nil: there is no user.
        package let claims: [UInt8]?
        /// Whether these are all claims of the user's token.
        package let hasAllClaims: Bool
        /// The revision of the rules that gave the right.
        package let rulesRevision: Int64?
    }

    /// Returns the user's right to subscribe to a node; nil: the rules do not let the user read it.
    package func permit(
        toSubscribe path: NodePath, user: User?, app: AppID
    ) async throws(StoreFault) -> SubscriptionPermit? {
        let access = try await access(of: app)
        guard try await mayRead(path, user, app, access.rules) else { return nil }
        let kept = user.map { UserClaims(ofToken: $0.claims).kept(for: access.rules.claims) }
        return SubscriptionPermit(
            claims: kept?.bytes, hasAllClaims: kept?.areAll ?? false, rulesRevision: access.rulesRevision)
    }

    private func mayRead(
        _ path: NodePath, _ user: User?, _ app: AppID, _ rules: ReadRules
    ) async throws(StoreFault) -> Bool {
        let auth = user.map { UserClaims(ofToken: $0.claims) }
        let question = ReadQuestion([ReadQuestion.Subject(path: path, auth: auth)], rules, now: clock())
        return question.answers(try await store.values(at: question.paths, app: app)) == [true]
    }

    /// Forgets what is cached of an app, after a change on this process.
    package func forget(_ app: AppID) {
        cache.withLock { cache in
            cache.known[app] = nil
            cache.readings[app] = nil
        }
    }

    private func access(of app: AppID) async throws(StoreFault) -> AppAccess {
        enum Source {
            case known(AppAccess)
            case reading(Reading)
        }
        let now = Clocks.monotonicNow()
        let source = cache.withLock { cache -> Source in
            let former = cache.known[app]
            if let former, now < former.until { return .known(former) }
            if let reading = cache.readings[app] { return .reading(reading) }
            cache.lastReading += 1
            let number = cache.lastReading
            let task = Task { await self.read(app, after: former, number: number, until: now + Self.freshFor) }
            let reading = Reading(number: number, task: task)
            cache.readings[app] = reading
            return .reading(reading)
        }
        switch source {
        case .known(let access): return access
        case .reading(let reading): return try await reading.task.value.get()
        }
    }

    /// - Parameters:
    ///   - former: what was known before, with its keys opened.
    ///   - number: the reading that this is.
    private func read(
        _ app: AppID, after former: AppAccess?, number: Int, until: MonotonicInstant
    ) async -> Result<AppAccess, StoreFault> {
        let result: Result<AppAccess, StoreFault>
        do throws(StoreFault) {
            let stored = try await store.access(of: app)
            let isSame = former?.storedKeys == stored.keys
            let keys = isSame ? former?.keys : nil
            result = .success(
                AppAccess(
                    rules: stored.rules, rulesRevision: stored.rulesRevision,
                    keys: keys ?? stored.keys.compactMap { open($0, app) }, storedKeys: stored.keys, until: until))
        } catch { result = .failure(error) }
        cache.withLock { cache in
            guard cache.readings[app]?.number == number else { return }
            cache.readings[app] = nil
            guard case .success(let access) = result else { return }
            if cache.known.count >= Self.appsMax { cache.known = [:] }
            cache.known[app] = access
        }
        return result
    }

    private func open(_ key: AccessStore.UserKey, _ app: AppID) -> UserTokenKey? {
        guard let algorithm = UserTokenAlgorithm(rawValue: key.algorithm),
            let text = try? vault.open(key.sealed, purpose: Self.purpose(key.kid, app))
        else { return nil }
        return try? UserTokenKey(kid: key.kid, algorithm: algorithm, submitted: String(decoding: text, as: UTF8.self))
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
    package func add(_ key: UserTokenKey, submitted: String, app: AppID) async throws(StoreFault) -> KeyReply {
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

    package func keys(of app: AppID) async throws(StoreFault) -> [AccessStore.UserKey] { try await store.keys(of: app) }

    package func rules(of app: AppID) async throws(StoreFault) -> AccessStore.Rules? { try await store.rules(of: app) }

    /// - Parameter source: JSON that `ReadRules` has read.
    package func setRules(_ source: [UInt8], app: AppID) async throws(StoreFault) {
        defer { forget(app) }
        try await store.setRules(String(decoding: source, as: UTF8.self), of: app)
    }
}
