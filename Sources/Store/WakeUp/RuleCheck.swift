import Basis
import Expressions
import JSON
import Model
import Postgres
import Synchronization
import WakeUpRules

/// The read rules of apps, parsed: one cache for requests and fan-outs. A revision of an app's rules never changes.
final class RuleCache: Sendable {
    private static let appsMax = 1_000
    private let known = Mutex<[Int64: (revision: Int64, rules: ReadRules)]>([:])  // lookup only

    /// The rules of an app that were parsed last, and their revision.
    subscript(app: Int64) -> (revision: Int64, rules: ReadRules)? { known.withLock { $0[app] } }

    func rules(_ app: Int64, revision: Int64) -> ReadRules? {
        self[app].flatMap { $0.revision == revision ? $0.rules : nil }
    }

    /// Returns the rules of this revision. Parses them unless they are known.
    /// - Parameter source: rules that can't be read let nobody in.
    func parse(_ source: String, _ app: Int64, revision: Int64) -> ReadRules {
        if let rules = rules(app, revision: revision) { return rules }
        let value = try? JSONReader.read(Array(source.utf8), limits: .trusted)
        let rules = value.flatMap { try? ReadRules.read($0) } ?? .none
        known.withLock { known in
            if known.count >= Self.appsMax { known = [:] }
            known[app] = (revision, rules)
        }
        return rules
    }

    /// Returns the rules of apps, by app. Reads those that are not known.
    /// - Parameter revisions: the revision of each app's rules.
    func rules(
        _ revisions: [Int64: Int64], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [Int64: ReadRules] {
        var rules: [Int64: ReadRules] = [:]  // lookup only
        for app in revisions.keys.sorted() { rules[app] = self.rules(app, revision: revisions[app] ?? 0) }
        let missing = revisions.keys.filter { rules[$0] == nil }.sorted()
        if missing.isEmpty { return rules }
        let read = try await transaction.run(Query(RuleSQL.rules) { $0.int64Array("apps", missing) })
        let sources = try read.map { row throws(PostgresError) in
            (app: try row.int64(), source: try row.text(), revision: try row.int64())
        }
        for (app, source, revision) in sources { rules[app] = parse(source, app, revision: revision) }
        return rules
    }
}

/// Asks an app's read rules about several subscriptions at once.
struct RuleCheck: Sendable {
    let app: Int64
    let rules: ReadRules
    let now: WallInstant

    struct Subject: Sendable {
        let path: NodePath
        /// The claims of the user who subscribed; nil: there was none.
        let claims: KeptClaims?
    }

    /// Returns for each subscription to a path whether its user may read it.
    func mayRead(
        _ path: NodePath, subscriptions: [Int64], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [Bool] {
        if subscriptions.isEmpty { return [] }
        guard rules.namesAuth(at: path.keys) else {
            let mayRead = try await mayRead([Subject(path: path, claims: nil)], in: transaction)
            return subscriptions.map { _ in mayRead[0] }
        }
        let query = Query(RuleSQL.claims) { $0.int64Array("subscriptions", subscriptions) }
        var claims: [Int64: KeptClaims] = [:]  // lookup only
        let rows = try await transaction.run(query).map { row throws(PostgresError) in
            (id: try row.int64(), claims: try KeptClaims(found: &row))
        }
        for row in rows { claims[row.id] = row.claims }
        return try await mayRead(subscriptions.map { Subject(path: path, claims: claims[$0]) }, in: transaction)
    }

    /// The most subjects whose data is read at once. Each may look up several paths.
    private static let subjectsAtOnce = 500

    /// Returns for each subject whether it may read its path.
    func mayRead(_ subjects: [Subject], in transaction: PostgresTransaction) async throws(PostgresError) -> [Bool] {
        var answers: [Bool] = []
        for start in stride(from: 0, to: subjects.count, by: Self.subjectsAtOnce) {
            let end = min(start + Self.subjectsAtOnce, subjects.count)
            answers += try await mayRead(subjects[start..<end], in: transaction)
        }
        return answers
    }

    /// All the data that the rules look up is read at once.
    private func mayRead(
        _ subjects: ArraySlice<Subject>, in transaction: PostgresTransaction
    ) async throws(PostgresError) -> [Bool] {
        let asked = subjects.map {
            (keys: $0.path.keys, auth: $0.claims.map { UserClaims(stored: $0.json, areAll: $0.areAll) })
        }
        var paths: Set<NodePath> = []  // lookup only
        for subject in asked {
            // Claims may be any text. At a path that can't be in a tree there is nothing.
            for keys in rules.lookups(at: subject.keys, auth: subject.auth, now: now) {
                if let path = try? NodePath(keys) { paths.insert(path) }
            }
        }
        let ordered = paths.sorted()
        var values: [NodePath: RuleValue] = [:]  // lookup only
        if !ordered.isEmpty {
            let read = try await transaction.run(Query(reading: ordered, app: app)).map(RuleValue.init)
            for (path, value) in zip(ordered, read) { values[path] = value }
        }
        return asked.map { subject in
            rules.mayRead(subject.keys, auth: subject.auth, now: now) { keys in
                (try? NodePath(keys)).flatMap { values[$0] } ?? .null
            }
        }
    }
}

/// The claims that a subscription keeps of a user, as they are stored.
struct KeptClaims: Sendable {
    let json: [UInt8]
    let areAll: Bool

    /// Reads the two columns. nil: the subscription has no user.
    init?(found row: inout Row) throws(PostgresError) {
        let stored = try row.optional { row throws(PostgresError) in try row.json() }
        areAll = try row.bool()
        guard let json = stored else { return nil }
        self.json = json
    }
}

enum RuleSQL {
    static let rules = Statement(
        "rule_sources", "SELECT app_id, source, revision FROM node_rules WHERE app_id = ANY (:apps)")

    /// The claims of the users who made subscriptions.
    static let claims = Statement(
        "rule_claims", "SELECT id, claims, has_all_claims FROM subscriptions WHERE id = ANY (:subscriptions)")
}

extension Query {
    /// The values at paths, in their order.
    init(reading paths: [NodePath], app: Int64) {
        self.init(AccessSQL.values) {
            $0.int64("app", app)
            $0.textArray("paths", paths.map(\.text))
            $0.textArray("prefixes", paths.map(\.prefix))
            $0.textArray("ends", paths.map(\.end))
        }
    }
}

extension RuleValue {
    init(_ row: inout Row) throws(PostgresError) {
        let (value, hasChildren) = (try row.textOrNil(), try row.bool())
        guard let value else {
            self = hasChildren ? .structure : .null
            return
        }
        self = (try? JSONReader.read(Array(value.utf8), limits: .trusted)).map { RuleValue($0) } ?? .null
    }
}
