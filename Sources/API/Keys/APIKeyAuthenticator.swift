import Basis
import Model
import Requests
import Signing
import Store
import Synchronization

/// The keys that open the API: the operator's, held only as its SHA-256, and those in the database.
///
/// Results from the database are cached for a moment. A revoked key is refused within `rememberedFor` on every process,
/// and at once on the process that revoked it.
package final class APIKeyAuthenticator: Sendable {
    package static let rememberedFor: Duration = .seconds(5)
    /// The most valid keys in the cache, and the most unknown ones. Anybody can invent keys, which evict no valid one.
    private static let rememberedMax = 4_096
    private static let scheme = Array("bearer ".utf8)
    private static let keyBytesMax = 256

    private struct CachedKey {
        /// nil: the key opens nothing.
        let caller: Caller?
        let until: WallInstant
    }

    private struct Cache {
        var callers: [[UInt8]: CachedKey] = [:]  // lookup only
        var unknown: [[UInt8]: CachedKey] = [:]  // lookup only
        /// Rises when the cache is emptied: the result of a query that began before is not cached.
        var changes: UInt64 = 0
        /// The keys whose use is to be noted.
        var used: Set<Int64> = []

        subscript(sha256: [UInt8]) -> CachedKey? { callers[sha256] ?? unknown[sha256] }

        mutating func cache(_ key: CachedKey, as sha256: [UInt8]) {
            callers[sha256] = nil
            if key.caller == nil {
                if unknown.count >= APIKeyAuthenticator.rememberedMax { unknown = [:] }
                unknown[sha256] = key
            } else {
                if callers.count >= APIKeyAuthenticator.rememberedMax { callers = [:] }
                callers[sha256] = key
            }
        }
    }

    private let operatorSHA256: [UInt8]
    private let store: KeyStore
    private let lookups: KeyLookups
    private let clock: @Sendable () -> WallInstant
    private let memory = Mutex(Cache())

    package init(operatorSHA256: [UInt8], store: KeyStore, clock: @escaping @Sendable () -> WallInstant) {
        precondition(operatorSHA256.count == Hashes.sha256Bytes)
        (self.operatorSHA256, self.store, self.clock) = (operatorSHA256, store, clock)
        lookups = KeyLookups(store: store)
    }

    package func caller(authorization: [String]) async throws(Problem) -> Caller {
        let key = try Self.key(in: authorization)
        let sha256 = Hashes.sha256(Array(key.utf8))
        if Hashes.areEqual(sha256, operatorSHA256) { return .admin }
        guard APIKeyText.isWellFormed(key) else {
            let sentence =
                key.hasPrefix(APIKeyText.prefix)
                ? "This API key is incomplete or was changed. Copy it again."
                : "This API key is not valid here."
            throw Problem(.unauthorized, sentence)
        }
        guard let caller = try await known(sha256) else {
            throw Problem(.unauthorized, "This API key is not valid here: it was revoked, or has expired.")
        }
        return caller
    }

    /// Returns a check whether the call's key still opens the endpoint and the app, for use while an answer goes on.
    func check(of call: Call, _ app: AppRecord) -> @Sendable () async throws(Problem) -> Void {
        let (authorization, match) = (call.request.headers[values: .authorization], call.match)
        return { () async throws(Problem) in
            let caller = try await self.caller(authorization: authorization)
            try caller.check(match)
            try caller.check(app.id)
        }
    }

    /// Returns the caller without a query of the database; nil if a query is needed, or if the key is refused.
    func cachedCaller(authorization: String) -> Caller? {
        guard let key = try? Self.key(in: [authorization]) else { return nil }
        let sha256 = Hashes.sha256(Array(key.utf8))
        if Hashes.areEqual(sha256, operatorSHA256) { return .admin }
        let remembered = memory.withLock { $0[sha256] }
        return remembered.flatMap { isFresh($0, at: clock()) ? $0.caller : nil }
    }

    /// After the clock was set back, cached keys count as old: otherwise they would stay fresh too long.
    private func isFresh(_ remembered: CachedKey, at now: WallInstant) -> Bool {
        now < remembered.until && remembered.until <= now + Self.rememberedFor
    }

    /// Empties the cache after keys were made or revoked on this process.
    package func forget() {
        memory.withLock { memory in
            (memory.callers, memory.unknown) = ([:], [:])
            memory.changes += 1
        }
    }

    private func known(_ sha256: [UInt8]) async throws(Problem) -> Caller? {
        let now = clock()
        let (remembered, changes) = memory.withLock { ($0[sha256], $0.changes) }
        if let remembered, isFresh(remembered, at: now) { return remembered.caller }
        let record = try await translating(.reads, await lookups.find(sha256).get())
        let caller = record.map { Caller($0) }
        var until = now + Self.rememberedFor
        if let end = record?.expiresAt { until = min(until, end) }
        let entry = CachedKey(caller: caller, until: until)
        memory.withLock { memory in
            if let record, Self.isUseNews(record, at: now) { memory.used.insert(record.id) }
            if memory.changes == changes { memory.cache(entry, as: sha256) }
        }
        return caller
    }

    private static func isUseNews(_ key: APIKeyRecord, at now: WallInstant) -> Bool {
        key.lastUsedAt.map { now - $0 > KeyStore.lastUseInterval } ?? true
    }

    /// Notes the uses since the last call in the database. Upkeep calls it, so that no request waits for a write. A
    /// use that can't be noted now is noted after the next one.
    package func noteUses() async throws(StoreFault) {
        let used = memory.withLock { memory in
            let used = memory.used
            memory.used = []
            return used
        }
        if !used.isEmpty { try await store.noteUses(used.sorted()) }
    }

    /// The token of a user, which has three parts with dots between them. No API key has a dot but an operator's own,
    /// and that one is looked at first.
    func userToken(in authorization: [String]) -> String? {
        guard let value = authorization.first, authorization.count == 1, let token = Self.bearer(value) else {
            return nil
        }
        guard token.count(where: { $0 == UInt8(ascii: ".") }) == 2,
            !Hashes.areEqual(Hashes.sha256(Array(token)), operatorSHA256)
        else { return nil }
        return String(decoding: token, as: UTF8.self)
    }

    private static func key(in authorization: [String]) throws(Problem) -> String {
        guard let value = authorization.first, authorization.count == 1 else {
            throw Problem(.unauthorized, "Send the API key once, as the header Authorization: Bearer <key>.")
        }
        guard let key = bearer(value) else {
            throw Problem(.unauthorized, "The scheme of Authorization must be Bearer: Authorization: Bearer <key>.")
        }
        guard key.count <= keyBytesMax else {
            throw Problem(.unauthorized, "This API key is not valid here: it is too long.")
        }
        return String(decoding: key, as: UTF8.self)
    }

    /// The text after `Bearer` and one or more blanks (RFC 9110, section 11.4); nil for another scheme, or no text.
    private static func bearer(_ value: String) -> ArraySlice<UInt8>? {
        let bytes = Array(value.utf8)
        guard bytes.count > scheme.count, zip(bytes, scheme).allSatisfy({ $0 | 0x20 == $1 | 0x20 }) else { return nil }
        let text = bytes[scheme.count...].drop { $0 == UInt8(ascii: " ") }
        return text.isEmpty ? nil : text
    }
}
