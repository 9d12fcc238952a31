import Basis
import Model
import Postgres

// Facts about a credential's use that the processes share.
extension CredentialStore {
    /// Blocks the credential: until then no process leases for it.
    package func block(
        _ credential: CredentialID, reason: String, for length: Duration, now: WallInstant? = nil
    ) async throws(StoreFault) {
        let query = Query(CredentialSQL.block) {
            $0.int64("credential", credential.value)
            $0.text("reason", reason)
            $0.int64("length_us", length.wholeMicroseconds)
            $0.instant("now", now)
        }
        _ = try await translated(await pool.run(query))
        notifier.notify(.credentials)
    }

    /// The given credentials that are not active or no longer exist, in the order asked. Their lanes have no reason to
    /// stay open.
    package func inactive(among ids: [CredentialID]) async throws(StoreFault) -> [CredentialID] {
        let query = Query(CredentialSQL.activeAmong) { $0.int64Array("credentials", ids.map(\.value)) }
        return try await translating { () throws(PostgresError) in
            let active = Set(
                try await pool.read(query).map { row throws(PostgresError) in CredentialID(try row.int64()) })
            return ids.filter { !active.contains($0) }
        }
    }

    /// The slug of an app, for the log; nil: the app is gone.
    package func slug(of app: AppID) async throws(StoreFault) -> String? {
        let query = Query(AppSQL.slug) { $0.int64("app", app.value) }
        return try await translated(await pool.read(query).first(String.init))
    }

    /// The blocks that still hold.
    package func blocks(now: WallInstant? = nil) async throws(StoreFault) -> [LaneBlock] {
        let query = Query(CredentialSQL.blocks) { $0.instant("now", now) }
        return try await translated(await pool.read(query).map(LaneBlock.init))
    }

    /// Why credentials of all apps do not work now.
    package func refusals(now: WallInstant? = nil) async throws(StoreFault) -> [CredentialRefusal] {
        let query = Query(CredentialSQL.refusals) { $0.instant("now", now) }
        return try await translated(await pool.read(query).map(CredentialRefusal.init))
    }

    package func providerToken(fingerprint: [UInt8]) async throws(StoreFault) -> SealedProviderToken? {
        let query = Query(CredentialSQL.providerToken) { $0.bytes("fingerprint", fingerprint) }
        return try await translated(
            await pool.read(query).first { row throws(PostgresError) in
                SealedProviderToken(sealed: try row.bytes(), issuedAt: try row.instant())
            })
    }

    /// Renews a provider token. One process signs; the others wait for it at the row and use what it signed.
    ///
    /// - Parameters:
    ///   - staleBefore: a stored token issued later than this is returned as it is.
    ///   - sign: makes the next token while the row is locked; nil: it can't. The later of two stays.
    package func renewProviderToken(
        fingerprint: [UInt8], staleBefore: WallInstant, sign: @Sendable () async -> SealedProviderToken?
    ) async throws(StoreFault) -> SealedProviderToken? {
        let opening = [CredentialSQL.addProviderToken, CredentialSQL.lockProviderToken].map {
            Query($0) { $0.bytes("fingerprint", fingerprint) }
        }
        return try await translated(
            await pool.transaction { transaction throws(PostgresError) -> SealedProviderToken? in
                let stored = try await transaction.run(opening)[1].one { row throws(PostgresError) in
                    (sealed: try row.bytesOrNil(), issuedAt: try row.instantOrNil())
                }
                if let sealed = stored.sealed, let issuedAt = stored.issuedAt, issuedAt > staleBefore {
                    return SealedProviderToken(sealed: sealed, issuedAt: issuedAt)
                }
                guard let next = await sign() else { return await transaction.abandon(returning: nil) }
                let write = Query(CredentialSQL.writeProviderToken) {
                    $0.bytes("fingerprint", fingerprint)
                    $0.bytes("sealed", next.sealed)
                    $0.instant("issued_at", next.issuedAt)
                }
                _ = try await transaction.runAndCommit([write])
                return next
            })
    }

    /// The proof that an earlier start sealed, to tell whether this is the same master key; nil on a fresh database.
    package func masterKeyProof() async throws(StoreFault) -> [UInt8]? {
        try await translated(
            await pool.read(Query(CredentialSQL.readProof)).first { row throws(PostgresError) in try row.bytes() })
    }

    /// Stores the first proof that any process offers, and returns the stored one.
    package func keepMasterKeyProof(_ sealed: [UInt8]) async throws(StoreFault) -> [UInt8] {
        let queries = [Query(CredentialSQL.keepProof) { $0.bytes("sealed", sealed) }, Query(CredentialSQL.readProof)]
        return try await translated(await pool.run(queries)[1].one { row throws(PostgresError) in try row.bytes() })
    }
}

/// A lane, or one route on it, that can't send, as one process sees it.
package struct LaneOutage: Equatable, Sendable {
    package let credential: CredentialID
    /// nil: the whole lane.
    package let route: ServiceRoute?
    /// One of `PushWait.Cause.reported`.
    package let cause: PushWait.Cause
    /// How long from now nothing is sent to a throttled provider; nil for other causes.
    package let openFor: Duration?
    /// The provider's word, or a text for people.
    package let reason: String
    package let age: Duration

    package init(
        credential: CredentialID, route: ServiceRoute? = nil, cause: PushWait.Cause, openFor: Duration? = nil,
        reason: String, age: Duration
    ) {
        precondition(PushWait.Cause.reported.contains(cause))
        (self.credential, self.route, self.cause, self.openFor) = (credential, route, cause, openFor)
        (self.reason, self.age) = (reason, age)
    }
}

extension CredentialStore {
    /// Reports all outages of the process: an earlier one that is not named is over. They are reported again while they
    /// last: one that was not for a minute belongs to a process that has ended.
    package func report(
        outages: [LaneOutage], of process: ProcessID, now: WallInstant? = nil
    ) async throws(StoreFault) {
        let query = Query(ProgressSQL.reportOutages) {
            $0.uuid("process", process.value)
            $0.int64Array("credentials", outages.map(\.credential.value))
            $0.int64Array("routes", outages.map { $0.route?.route.value ?? 0 })
            $0.int16Array("services", outages.map { ($0.route?.service ?? .app).rawValue })
            $0.int16Array("causes", outages.map(\.cause.rawValue))
            $0.textArray("reasons", outages.map(\.reason))
            $0.int64Array("ages_us", outages.map(\.age.wholeMicroseconds))
            $0.int64Array("open_for_us", outages.map { $0.openFor?.wholeMicroseconds ?? -1 })
            $0.instant("now", now)
        }
        _ = try await translated(await pool.run(query))
    }
}
