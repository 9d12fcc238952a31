import Expressions
import JSON
import Postgres
import Synchronization

/// Reads the read rules of apps, for requests, fan-outs and revocations.
///
/// It alone parses stored rules, keeps them, and says which rules an app without rules has. A revision of an app's
/// rules never changes, so rules are read and parsed once for each revision.
package final class RuleReader: Sendable {
    private static let appsMax = 1_000
    private let known = Mutex<[Int64: KnownRules]>([:])  // lookup only

    fileprivate struct KnownRules: Sendable {
        let revision: Int64
        let rules: ReadRules
    }

    /// One reading of an app's rules as they are now: its query, and the meaning of the answer.
    package struct Reading: Sendable {
        private let reader: RuleReader
        private let app: Int64
        /// The rules that are known already.
        private let known: KnownRules?

        fileprivate init(_ reader: RuleReader, app: Int64, _ known: KnownRules?) {
            (self.reader, self.app, self.known) = (reader, app, known)
        }

        package var query: Query {
            Query(RuleSQL.newest) {
                $0.int64("app", app)
                $0.int64("known", known?.revision)
            }
        }

        /// Returns the rules, and their revision. nil: the app has none.
        ///
        /// - Parameter answer: the answer to `query`.
        package func rules(_ answer: ResultSet) throws(PostgresError) -> (rules: ReadRules, revision: Int64?) {
            let stored = try answer.first { row throws(PostgresError) in
                (revision: try row.int64(), source: try row.textOrNil())
            }
            guard let stored else { return (ReadRules.none, nil) }
            // The text is left out if the revision is the known one.
            let rules = stored.source.map { reader.parse($0, app, revision: stored.revision) } ?? known?.rules
            return (rules ?? ReadRules.none, stored.revision)
        }
    }

    /// Begins a reading of an app's rules. Its query may run beside others.
    package func reading(of app: Int64) -> Reading { Reading(self, app: app, current(app)) }

    private func current(_ app: Int64) -> KnownRules? { known.withLock { $0[app] } }

    /// The read rules of several apps. An app without rules lets nobody in.
    package struct AppRules: Sendable {
        fileprivate var rules: [Int64: ReadRules] = [:]  // lookup only

        package subscript(app: Int64) -> ReadRules { rules[app] ?? ReadRules.none }
    }

    /// Returns the rules of apps. Reads those that are not known.
    /// - Parameter revisions: the revision of each app's rules, as the transaction has read it.
    package func rules(
        _ revisions: [Int64: Int64], in transaction: PostgresTransaction
    ) async throws(PostgresError) -> AppRules {
        var found = AppRules()
        for app in revisions.keys.sorted() {
            if let known = current(app), known.revision == revisions[app] { found.rules[app] = known.rules }
        }
        let missing = revisions.keys.filter { found.rules[$0] == nil }.sorted()
        if missing.isEmpty { return found }
        let read = try await transaction.run(Query(RuleSQL.sources) { $0.int64Array("apps", missing) })
        let sources = try read.map { row throws(PostgresError) in
            (app: try row.int64(), source: try row.text(), revision: try row.int64())
        }
        for (app, source, revision) in sources { found.rules[app] = parse(source, app, revision: revision) }
        return found
    }

    /// Returns the rules of this revision. Parses them unless they are known. Rules that can't be read let nobody in.
    private func parse(_ source: String, _ app: Int64, revision: Int64) -> ReadRules {
        if let known = current(app), known.revision == revision { return known.rules }
        let value = try? JSONReader.read(Array(source.utf8), limits: .trusted)
        let rules = value.flatMap { try? ReadRules.read($0) } ?? ReadRules.none
        known.withLock { known in
            if known.count >= Self.appsMax { known = [:] }
            known[app] = KnownRules(revision: revision, rules: rules)
        }
        return rules
    }
}

enum RuleSQL {
    /// The revision of the rules, and their text unless the revision is known.
    static let newest = Statement(
        "access_new_rules",
        """
        SELECT revision, CASE WHEN revision IS DISTINCT FROM :known THEN source END
        FROM node_rules WHERE app_id = :app
        """)

    static let sources = Statement(
        "rule_sources", "SELECT app_id, source, revision FROM node_rules WHERE app_id = ANY (:apps)")

    /// The claims of the users who made subscriptions.
    static let claims = Statement(
        "rule_claims", "SELECT id, claims, has_all_claims FROM subscriptions WHERE id = ANY (:subscriptions)")

    /// The values at paths that rules look up, in the order of the paths.
    static let values = Statement(
        "access_values",
        """
        SELECT leaf.value, EXISTS (
            SELECT FROM nodes WHERE app_id = :app AND path > asked.prefix AND path < asked.prefix_end)
        FROM unnest(:paths, :prefixes, :ends) WITH ORDINALITY AS asked (path, prefix, prefix_end, place)
        LEFT JOIN nodes leaf ON leaf.app_id = :app AND leaf.path = asked.path
        ORDER BY asked.place
        """)
}
