import Basis
import Expressions
import JSON
import Model
import Postgres
import WakeUpRules

/// Asks an app's read rules about several subscriptions at once.
package struct RuleCheck: Sendable {
    let app: Int64
    package let rules: ReadRules
    let now: WallInstant

    /// - Parameters:
    ///   - app: the app whose tree the rules look into.
    ///   - rules: those of the app.
    ///   - now: the time at which the rules are asked.
    package init(app: Int64, rules: ReadRules, now: WallInstant) {
        (self.app, self.rules, self.now) = (app, rules, now)
    }

    /// Returns for each subscription to a path whether its user may read it, in their order.
    package func mayRead(
        _ path: NodePath, subscriptions: [Int64], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [Bool] {
        if subscriptions.isEmpty { return [] }
        guard rules.namesAuth(at: path.keys) else {
            let mayRead = try await mayRead([.init(path: path, auth: nil)], in: transaction)
            return subscriptions.map { _ in mayRead[0] }
        }
        let query = Query(RuleSQL.claims) { $0.int64Array("subscriptions", subscriptions) }
        var claims: [Int64: KeptClaims] = [:]  // lookup only
        let rows = try await transaction.run(query).map { row throws(PostgresError) in
            (id: try row.int64(), claims: try KeptClaims(found: &row))
        }
        for row in rows { claims[row.id] = row.claims }
        return try await mayRead(subscriptions.map { .init(path: path, auth: claims[$0]?.auth) }, in: transaction)
    }

    /// The most subjects whose data is read at once. Each may look up several paths.
    private static let subjectsAtOnce = 500

    /// Returns for each subject whether it may read its path, in their order.
    package func mayRead(
        _ subjects: [ReadQuestion.Subject], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [Bool] {
        var answers: [Bool] = []
        for start in stride(from: 0, to: subjects.count, by: Self.subjectsAtOnce) {
            let end = min(start + Self.subjectsAtOnce, subjects.count)
            let question = ReadQuestion(Array(subjects[start..<end]), rules, now: now)
            answers += question.answers(try await values(at: question.paths, in: transaction))
        }
        return answers
    }

    /// All the data that the rules look up is read at once.
    private func values(
        at paths: [NodePath], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [RuleValue] {
        if paths.isEmpty { return [] }
        return try await transaction.run(Query(reading: paths, app: app)).map(RuleValue.init)
    }
}

/// The claims that a subscription keeps of a user, as they are stored.
package struct KeptClaims: Sendable {
    let json: [UInt8]
    let areAll: Bool

    /// The claims as the rules see them.
    package var auth: UserClaims { UserClaims(stored: json, areAll: areAll) }

    /// Reads the two columns `claims` and `has_all_claims`. nil: the subscription has no user.
    package init?(found row: inout Row) throws(PostgresError) {
        let stored = try row.optional { row throws(PostgresError) in try row.json() }
        areAll = try row.bool()
        guard let json = stored else { return nil }
        self.json = json
    }
}

extension Query {
    /// Reads the values at paths of an app's tree, in the order of the paths. Each row is a `RuleValue`.
    package init(reading paths: [NodePath], app: Int64) {
        self.init(RuleSQL.values) {
            $0.int64("app", app)
            $0.textArray("paths", paths.map(\.text))
            $0.textArray("prefixes", paths.map(\.prefix))
            $0.textArray("ends", paths.map(\.end))
        }
    }
}

extension RuleValue {
    /// Reads a row of the query for values at paths: the leaf at the path, if there is one, and whether leaves are below.
    package init(_ row: inout Row) throws(PostgresError) {
        let (value, hasChildren) = (try row.textOrNil(), try row.bool())
        guard let value else {
            self = hasChildren ? .structure : .null
            return
        }
        self = (try? JSONReader.read(Array(value.utf8), limits: .trusted)).map { RuleValue($0) } ?? .null
    }
}
