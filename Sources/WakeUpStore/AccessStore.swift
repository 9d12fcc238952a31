import Basis
import Expressions
import Model
import Postgres
import Store
import WakeUpRules

/// The access to an app's tree: its read rules, and the keys that verify its users' tokens.
package struct AccessStore: Sendable {
    /// The most keys of one app: enough for several services, each in the middle of a rotation.
    package static let keysMax = 20

    let pool: PostgresPool
    private let reader: RuleReader

    init(pool: PostgresPool, rules: RuleReader) { (self.pool, reader) = (pool, rules) }

    /// The text of rules, and a number that rises with each change.
    package struct Rules: Equatable, Sendable {
        package let source: String
        package let revision: Int64
    }

    /// A key as it is stored.
    package struct UserKey: Equatable, Sendable {
        package let kid: String
        package let algorithm: String
        package let sealed: [UInt8]
        package let createdAt: WallInstant
    }

    /// Everything that decides who may read.
    package struct Access: Sendable {
        package let rules: ReadRules
        /// nil: the app has no rules.
        package let rulesRevision: Int64?
        package let keys: [UserKey]
    }

    /// Reads the access to an app's tree. Rules are read and parsed once for each revision.
    package func access(of app: AppID) async throws(StoreFault) -> Access {
        let reading = reader.reading(of: app.value)
        let queries = [reading.query, Query(AccessSQL.keys) { $0.int64("app", app.value) }]
        return try await translating { () throws(PostgresError) in
            let answers = try await pool.read(queries)
            let (rules, revision) = try reading.rules(answers[0])
            return Access(rules: rules, rulesRevision: revision, keys: try answers[1].map(UserKey.init))
        }
    }

    /// nil: the app has none, so nothing may be read.
    package func rules(of app: AppID) async throws(StoreFault) -> Rules? {
        let query = Query(AccessSQL.rules) { $0.int64("app", app.value) }
        return try await translated(await pool.read(query).first(Rules.init))
    }

    package func keys(of app: AppID) async throws(StoreFault) -> [UserKey] {
        let query = Query(AccessSQL.keys) { $0.int64("app", app.value) }
        return try await translated(await pool.read(query).map(UserKey.init))
    }

    /// Replaces the rules, and has each subscription of the app asked about again.
    package func setRules(_ source: String, of app: AppID) async throws(StoreFault) {
        let query = Query(AccessSQL.setRules) {
            $0.int64("app", app.value)
            $0.text("source", source)
        }
        let queries = [query, Query(revoking: app, .permissionDenied)]
        _ = try await translated(await pool.run(queries, transaction: TransactionOptions()))
    }

    /// Adds a key. Throws `.conflict` if another one has its `kid`; false: the app has as many as it may have.
    package func addKey(kid: String, algorithm: String, sealed: [UInt8], app: AppID) async throws(StoreFault) -> Bool {
        let query = Query(AccessSQL.addKey) {
            $0.int64("app", app.value)
            $0.text("kid", kid)
            $0.text("algorithm", algorithm)
            $0.bytes("sealed", sealed)
            $0.int64("keys_max", Int64(Self.keysMax))
        }
        return try await translated(await pool.run(query).affectedRows == 1)
    }

    /// Removes a key; false: there is none.
    package func removeKey(kid: String, app: AppID) async throws(StoreFault) -> Bool {
        let query = Query(AccessSQL.removeKey) {
            $0.int64("app", app.value)
            $0.text("kid", kid)
        }
        return try await translated(await pool.run(query).affectedRows == 1)
    }

    /// The values at paths that rules ask for, in the order of the paths.
    package func values(at paths: [NodePath], app: AppID) async throws(StoreFault) -> [RuleValue] {
        if paths.isEmpty { return [] }
        let query = Query(reading: paths, app: app.value)
        return try await translated(await pool.read(query).map(RuleValue.init))
    }
}

enum AccessSQL {
    static let rules = Statement("access_rules", "SELECT source, revision FROM node_rules WHERE app_id = :app")

    static let keys = Statement(
        "access_keys", "SELECT kid, algorithm, sealed, created_at FROM user_token_keys WHERE app_id = :app ORDER BY id")

    static let setRules = Statement(
        "access_set_rules",
        """
        INSERT INTO node_rules AS known (app_id, source) VALUES (:app, :source)
        ON CONFLICT (app_id) DO UPDATE SET source = excluded.source, revision = known.revision + 1
        """)

    static let addKey = Statement(
        "access_add_key",
        """
        INSERT INTO user_token_keys (app_id, kid, algorithm, sealed)
        SELECT :app, :kid, :algorithm, :sealed
        WHERE (SELECT count(*) FROM user_token_keys WHERE app_id = :app) < :keys_max
        """)

    static let removeKey = Statement(
        "access_remove_key", "DELETE FROM user_token_keys WHERE app_id = :app AND kid = :kid")
}

extension AccessStore.Rules {
    fileprivate init(_ row: inout Row) throws(PostgresError) { (source, revision) = (try row.text(), try row.int64()) }
}

extension AccessStore.UserKey {
    fileprivate init(_ row: inout Row) throws(PostgresError) {
        (kid, algorithm, sealed) = (try row.text(), try row.text(), try row.bytes())
        createdAt = try row.instant()
    }
}
