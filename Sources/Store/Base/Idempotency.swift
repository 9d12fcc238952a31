import Model
import Postgres

/// A request with an idempotency key: repeating it has no second effect (P10).
package struct IdempotencyClaim: Equatable, Sendable {
    /// Method and route, without the values in the path.
    package let operation: String
    /// The caller's key, 1 to 255 bytes.
    package let key: String
    package let bodySHA256: [UInt8]

    package init(operation: String, key: String, bodySHA256: [UInt8]) {
        precondition(bodySHA256.count == 32, "a SHA-256 has 32 bytes")
        (self.operation, self.key, self.bodySHA256) = (operation, key, bodySHA256)
    }
}

/// An idempotency key whose answer is known before the effect.
package struct IdempotentAnswer: Equatable, Sendable {
    package let claim: IdempotencyClaim
    package let answer: [UInt8]
    package init(claim: IdempotencyClaim, answer: [UInt8]) { (self.claim, self.answer) = (claim, answer) }
}

/// The result of a request with an idempotency key.
package enum IdempotentReply: Equatable, Sendable {
    case done(answer: [UInt8])
    /// The first request's answer; nothing was done now.
    case replayed(answer: [UInt8])
    /// The key was used for another body; nothing was done.
    case mismatch
}

enum IdempotencySQL {
    static let claim = Statement(
        "idempotency_claim",
        """
        INSERT INTO idempotency_keys (app_id, operation, key, body_sha256, answer)
        VALUES (:app, :operation, :key, :body_sha256, '')
        ON CONFLICT DO NOTHING
        """)

    static let find = Statement(
        "idempotency_look",
        """
        SELECT body_sha256, answer FROM idempotency_keys WHERE app_id = :app AND operation = :operation AND key = :key
        """)

    static let answer = Statement(
        "idempotency_answer",
        """
        UPDATE idempotency_keys SET answer = :answer WHERE app_id = :app AND operation = :operation AND key = :key
        """)
}

extension IdempotencyClaim {
    func lookUp(app: AppID?) -> Query { Query(IdempotencySQL.find, name(in: app)) }

    private func name(in app: AppID?) -> Parameters {
        var parameters = Parameters()
        // 0: the request belongs to no app.
        parameters.int64("app", app?.value ?? 0)
        parameters.text("operation", operation)
        parameters.text("key", key)
        return parameters
    }

    /// The reply to this request, as the stored key decides it.
    package func reply(in stored: ResultSet) throws(PostgresError) -> IdempotentReply {
        try stored.one { row throws(PostgresError) in
            let (body, answer) = (try row.bytes(), try row.bytes())
            return body == bodySHA256 ? .replayed(answer: answer) : .mismatch
        }
    }

    /// The answer to an earlier request with this key; nil: there was none, and the key is still free. Waits for a
    /// simultaneous repeat.
    package func earlier(app: AppID?, in pool: PostgresPool) async throws(PostgresError) -> IdempotentReply? {
        let opening = opening(app)
        return try await pool.transaction { transaction throws(PostgresError) -> IdempotentReply? in
            let answers = try await transaction.run(opening)
            guard answers[0].affectedRows == 1 else { return try reply(in: answers[1]) }
            return await transaction.abandon(returning: nil)
        }
    }

    /// The first queries of a transaction that carries out the request. The key is free if the first one affects a row;
    /// else the second one has the answer to an earlier request. Waits for a simultaneous repeat.
    package func opening(_ app: AppID?) -> [Query] {
        var parameters = name(in: app)
        parameters.bytes("body_sha256", bodySHA256)
        return [Query(IdempotencySQL.claim, parameters), lookUp(app: app)]
    }

    /// The last query of such a transaction: stores the answer.
    package func closing(_ app: AppID?, answer: [UInt8]) -> Query {
        var parameters = name(in: app)
        parameters.bytes("answer", answer)
        return Query(IdempotencySQL.answer, parameters)
    }

    /// Runs `effect` in one transaction with its key: once, however often it is requested. A simultaneous repeat waits.
    func once(
        app: AppID?, in pool: PostgresPool, _ options: TransactionOptions = TransactionOptions(),
        _ effect: @Sendable (PostgresTransaction) async throws(PostgresError) -> [UInt8]
    ) async throws(PostgresError) -> IdempotentReply {
        let opening = opening(app)
        return try await pool.transaction(options) { transaction throws(PostgresError) in
            let answers = try await transaction.run(opening)
            guard answers[0].affectedRows == 1 else { return try reply(in: answers[1]) }
            let answer = try await effect(transaction)
            _ = try await transaction.runAndCommit([closing(app, answer: answer)])
            return .done(answer: answer)
        }
    }
}

extension PostgresPool {
    /// Runs `effect` in one transaction: with a claim only once, without one each time.
    func once(
        _ claim: IdempotencyClaim?, of app: AppID?, _ options: TransactionOptions = TransactionOptions(),
        _ effect: @Sendable (PostgresTransaction) async throws(PostgresError) -> [UInt8]
    ) async throws(PostgresError) -> IdempotentReply {
        if let claim { return try await claim.once(app: app, in: self, options, effect) }
        return .done(
            answer: try await transaction(options) { transaction throws(PostgresError) in
                try await effect(transaction)
            })
    }
}
