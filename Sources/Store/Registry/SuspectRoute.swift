import Basis
import Model
import Postgres
import QueueRules
import RegistryRules

/// A route with so many tokens found in the other environment at once that none of them moved.
package struct SuspectRoute: Equatable, Sendable {
    package let route: RouteID
    package let environment: PushEnvironment
    package let topic: String
    /// The tokens found within the window so far.
    package let found: Int
    /// The settled answers within the window.
    package let answered: Int

    package init(route: RouteID, environment: PushEnvironment, topic: String, found: Int, answered: Int) {
        self.route = route
        self.environment = environment
        self.topic = topic
        self.found = found
        self.answered = answered
    }
}

extension ParcelStore {
    /// Applies verdicts with tokens among them that were found in the other environment. Those are counted first, under
    /// a lock of their minute; then the count judges the batch as one.
    ///
    /// Verdicts repeated after a lost reply count again unless the token moved, so the route is suspected a little
    /// sooner.
    func applyFindings(
        _ verdicts: [GuardedVerdict], under rule: SuspicionRule, _ options: TransactionOptions, now: WallInstant?
    ) async throws(StoreFault) -> VerdictReport {
        let found = verdicts.filter { $0.verdict.foundOn != nil }
        let routes = Set(found.map(\.route.value)).sorted()
        let statements = [
            Query(PlannerSQL.throughKeys),
            Query(VerdictSQL.lock) { $0.int64Array("registrations", verdicts.map(\.registration.value)) },
            Query(VerdictSQL.countFound) {
                $0.int64Array("registrations", found.map(\.registration.value))
                $0.int32Array("generations", found.map(\.generation.value))
                $0.instant("now", now)
            },
            Query(VerdictSQL.findings) {
                $0.int64Array("routes", routes)
                $0.int64("window_us", rule.window.wholeMicroseconds)
                $0.int64("window_max_us", SuspicionRule.windowMax.wholeMicroseconds)
                $0.instant("now", now)
            },
        ]
        let pool = pool
        return try await translating { () throws(PostgresError) in
            try await pool.retryingConflicts { () throws(PostgresError) in
                try await pool.transaction(options) { transaction throws(PostgresError) in
                    let suspectRoutes = try await transaction.run(statements)[3].suspectRoutes(by: rule)
                    let judged = verdicts.map { verdict in
                        suspectRoutes.contains { $0.route == verdict.route } ? verdict.staying : verdict
                    }
                    let judge = Query(VerdictSQL.judge) { $0.verdicts(judged, now: now) }
                    var report = try await transaction.runAndCommit([judge])[0].one(VerdictReport.init(_:))
                    report.suspectRoutes = suspectRoutes
                    return report
                }
            }
        }
    }
}

extension ResultSet {
    fileprivate func suspectRoutes(by rule: SuspicionRule) throws(PostgresError) -> [SuspectRoute] {
        var suspectRoutes: [SuspectRoute] = []
        for row in 0..<rowCount {
            let findings = RouteFindings(
                found: Int(try int64(row, 3)), answered: Int(try int64(row, 4)), borneOut: Int(try int64(row, 5)))
            if rule.letsMove(findings) { continue }
            guard let environment = PushEnvironment(rawValue: try int16(row, 1)) else {
                throw .unexpectedShape(statement: "verdict_findings", column: 1)
            }
            suspectRoutes.append(
                SuspectRoute(
                    route: RouteID(try int64(row, 0)), environment: environment, topic: try text(row, 2),
                    found: findings.found, answered: findings.answered))
        }
        return suspectRoutes
    }
}
