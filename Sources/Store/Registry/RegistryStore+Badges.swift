import Model
import Postgres

// Badges of one registration. Each function returns nil if there is no such registration.
extension RegistryStore {
    /// A device's row that others have locked is waited for briefly: a session of the pool waits with it.
    private static let bounded = TransactionOptions(lockTimeout: LockTimeout.brief)

    package func badge(app: AppID, installation: String, kind: TokenKind = .alert) async throws(StoreFault) -> Int32? {
        let query = Query(BadgeSQL.read) { $0.registration(app, installation, kind) }
        return try await translated(await pool.read(query).first(Int32.init))
    }

    package func setBadge(
        _ badge: Int32, app: AppID, installation: String, kind: TokenKind = .alert
    ) async throws(StoreFault) -> Int32? {
        let query = Query(BadgeSQL.set) {
            $0.registration(app, installation, kind)
            $0.int32("badge", badge)
        }
        return try await translated(await pool.run([query], transaction: Self.bounded)[0].first(Int32.init))
    }

    /// Subtracts `count`, never below zero; returns the new badge.
    package func consumeBadge(
        _ count: Int32, app: AppID, installation: String, kind: TokenKind = .alert
    ) async throws(StoreFault) -> Int32? {
        precondition(count >= 0)
        let query = Self.consume(count, app, installation, kind)
        return try await translated(await pool.run([query], transaction: Self.bounded)[0].first(Int32.init))
    }

    /// Does the same, once for each idempotency key.
    ///
    /// - Parameter answer: makes the answer from the new badge; it is stored with the key.
    package func consumeBadge(
        _ count: Int32, app: AppID, installation: String, kind: TokenKind = .alert, idempotency: IdempotencyClaim,
        answer: @Sendable (Int32?) -> [UInt8]
    ) async throws(StoreFault) -> IdempotentReply {
        precondition(count >= 0)
        let query = Self.consume(count, app, installation, kind)
        return try await translating { () throws(PostgresError) in
            try await idempotency.once(app: app, in: pool, Self.bounded) { transaction throws(PostgresError) in
                answer(try await transaction.run(query).first(Int32.init))
            }
        }
    }

    /// The registrations of one transaction, whatever their kind.
    private static let userPageMax: Int64 = 500

    /// Sets the badge of every registration of a kind that names the user; returns their number.
    ///
    /// A transaction sets some of them, by rising id. If one fails, the earlier ones stay set; repeating the call does
    /// no harm.
    package func setBadge(
        _ badge: Int32, app: AppID, user: String, kind: TokenKind = .alert
    ) async throws(StoreFault) -> Int {
        var count = 0
        var last: Int64? = 0
        for _ in 0..<Self.eraseRoundsMax {
            guard let after = last else { return count }
            let page = try await setSomeBadges(badge, app, user, kind, after: after)
            count += page.count
            last = page.last
        }
        throw .contended
    }

    /// - Returns: `last` is the id with which the next page begins; nil: no more follow.
    private func setSomeBadges(
        _ badge: Int32, _ app: AppID, _ user: String, _ kind: TokenKind, after: Int64
    ) async throws(StoreFault) -> (count: Int, last: Int64?) {
        let query = Query(BadgeSQL.setOfUser) {
            $0.int64("app", app.value)
            $0.text("user", user)
            $0.int64("after", after)
            $0.int64("limit", Self.userPageMax)
            $0.int16("kind", kind.rawValue)
            $0.int32("badge", badge)
        }
        let queries = [Query(PlannerSQL.throughKeys), query]
        return try await translated(
            await pool.run(queries, transaction: Self.bounded)[1].one { row throws(PostgresError) in
                (Int(try row.int64()), try row.int64OrNil())
            })
    }

    // Badges by token, for backends that know nothing else. The first reading that a live registration holds counts.

    package func setBadge(
        _ badge: Int32, app: AppID, ofToken readings: [(Provider, DeviceToken)]
    ) async throws(StoreFault) -> NamedBadge? {
        let queries = Self.byToken(BadgeSQL.setByToken, app, readings) { $0.int32("badge", badge) }
        return try await translated(await pool.run(queries, transaction: Self.bounded)[1].first(NamedBadge.init))
    }

    /// - Parameter idempotency: nil: each call subtracts.
    package func consumeBadge(
        _ count: Int32, app: AppID, ofToken readings: [(Provider, DeviceToken)], idempotency: IdempotencyClaim?,
        answer: @Sendable (NamedBadge?) -> [UInt8]
    ) async throws(StoreFault) -> IdempotentReply {
        precondition(count >= 0)
        let queries = Self.byToken(BadgeSQL.consumeByToken, app, readings) { $0.int32("count", count) }
        return try await translating { () throws(PostgresError) in
            try await pool.once(idempotency, of: app, Self.bounded) { transaction throws(PostgresError) in
                answer(try await transaction.run(queries)[1].first(NamedBadge.init))
            }
        }
    }

    private static func byToken(
        _ statement: Statement, _ app: AppID, _ readings: [(Provider, DeviceToken)],
        _ number: (inout Parameters) -> Void
    ) -> [Query] {
        let query = Query(statement) {
            $0.int64("app", app.value)
            $0.int16Array("providers", readings.map(\.0.rawValue))
            $0.bytesArray("tokens", readings.map(\.1.bytes))
            number(&$0)
        }
        return [Query(PlannerSQL.throughKeys), query]
    }

    private static func consume(_ count: Int32, _ app: AppID, _ installation: String, _ kind: TokenKind) -> Query {
        Query(BadgeSQL.consume) {
            $0.registration(app, installation, kind)
            $0.int32("count", count)
        }
    }
}

extension Parameters {
    fileprivate mutating func registration(_ app: AppID, _ installation: String, _ kind: TokenKind) {
        self.installation(installation, of: app)
        int16("kind", kind.rawValue)
    }
}

/// A badge and its registration.
package struct NamedBadge: Equatable, Sendable {
    package let installation: String
    package let kind: TokenKind
    package let badge: Int32

    fileprivate init(_ row: inout Row) throws(PostgresError) {
        (badge, installation, kind) = (try row.int32(), try row.text(), try row.stored())
    }
}
