import Model
import Postgres

// Badges of one registration. Each function returns nil if there is no such registration.
extension RegistryStore {
    package func badge(
        app: AppID, installation: String, kind: TokenKind = .alert
    ) async throws(StoreFault) -> Int32? {
        let query = Query(BadgeSQL.read) { $0.registration(app, installation, kind) }
        return try await translating { () throws(PostgresError) in try Self.badge(in: try await pool.read(query)) }
    }

    package func setBadge(
        _ badge: Int32, app: AppID, installation: String, kind: TokenKind = .alert
    ) async throws(StoreFault) -> Int32? {
        let query = Query(BadgeSQL.set) {
            $0.registration(app, installation, kind)
            $0.int32(badge)
        }
        return try await translating { () throws(PostgresError) in try Self.badge(in: try await pool.run(query)) }
    }

    /// Subtracts `count`, never below zero; returns the new badge.
    package func consumeBadge(
        _ count: Int32, app: AppID, installation: String, kind: TokenKind = .alert
    ) async throws(StoreFault) -> Int32? {
        precondition(count >= 0)
        let query = Self.consume(count, app, installation, kind)
        return try await translating { () throws(PostgresError) in try Self.badge(in: try await pool.run(query)) }
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
            try await idempotency.once(app: app, in: pool) { transaction throws(PostgresError) in
                answer(try Self.badge(in: try await transaction.run([query])[0]))
            }
        }
    }

    // Badges by token, for backends that know nothing else. The first reading that a live registration holds counts.

    package func setBadge(
        _ badge: Int32, app: AppID, ofToken readings: [(Provider, DeviceToken)]
    ) async throws(StoreFault) -> NamedBadge? {
        let queries = Self.byToken(BadgeSQL.setByToken, badge, app, readings)
        return try await translating { () throws(PostgresError) in
            try NamedBadge(in: try await pool.run(queries, transaction: TransactionOptions())[1])
        }
    }

    /// - Parameter idempotency: nil: each call subtracts.
    package func consumeBadge(
        _ count: Int32, app: AppID, ofToken readings: [(Provider, DeviceToken)], idempotency: IdempotencyClaim?,
        answer: @Sendable (NamedBadge?) -> [UInt8]
    ) async throws(StoreFault) -> IdempotentReply {
        precondition(count >= 0)
        let queries = Self.byToken(BadgeSQL.consumeByToken, count, app, readings)
        return try await translating { () throws(PostgresError) in
            try await pool.once(idempotency, of: app) { transaction throws(PostgresError) in
                answer(try NamedBadge(in: try await transaction.run(queries)[1]))
            }
        }
    }

    private static func byToken(
        _ statement: Statement, _ number: Int32, _ app: AppID, _ readings: [(Provider, DeviceToken)]
    ) -> [Query] {
        let query = Query(statement) {
            $0.int64(app.value)
            $0.int16Array(readings.map(\.0.rawValue))
            $0.bytesArray(readings.map(\.1.bytes))
            $0.int32(number)
        }
        return [Query(PlannerSQL.throughKeys), query]
    }

    private static func consume(_ count: Int32, _ app: AppID, _ installation: String, _ kind: TokenKind) -> Query {
        Query(BadgeSQL.consume) {
            $0.registration(app, installation, kind)
            $0.int32(count)
        }
    }

    private static func badge(in rows: ResultSet) throws(PostgresError) -> Int32? {
        rows.rowCount == 1 ? try rows.int32(0, 0) : nil
    }
}

extension Parameters {
    fileprivate mutating func registration(_ app: AppID, _ installation: String, _ kind: TokenKind) {
        int64(app.value)
        text(installation)
        int16(kind.rawValue)
    }
}

/// A badge and its registration.
package struct NamedBadge: Equatable, Sendable {
    package let installation: String
    package let kind: TokenKind
    package let badge: Int32

    /// nil: there is none.
    fileprivate init?(in rows: ResultSet) throws(PostgresError) {
        guard rows.rowCount == 1 else { return nil }
        guard let kind = TokenKind(rawValue: try rows.int16(0, 2)) else {
            throw .unexpectedShape(statement: "badge_by_token", column: 2)
        }
        badge = try rows.int32(0, 0)
        installation = try rows.text(0, 1)
        self.kind = kind
    }
}
