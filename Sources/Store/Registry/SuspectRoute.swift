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
        (self.route, self.environment, self.topic) = (route, environment, topic)
        (self.found, self.answered) = (found, answered)
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
        return try await translated(
            await pool.retryingTransaction(options) { transaction throws(PostgresError) -> VerdictReport in
                let suspectRoutes = try await transaction.run(statements)[3].suspectRoutes(by: rule)
                let judged = verdicts.map { verdict in
                    suspectRoutes.contains { $0.route == verdict.route } ? verdict.staying : verdict
                }
                let judge = Query(VerdictSQL.judge) { $0.verdicts(judged, under: rule, now: now) }
                var report = try await transaction.runAndCommit([judge])[0].one(VerdictReport.init(_:))
                report.suspectRoutes = suspectRoutes
                return report
            })
    }
}

extension ResultSet {
    fileprivate func suspectRoutes(by rule: SuspicionRule) throws(PostgresError) -> [SuspectRoute] {
        let routes = try map { row throws(PostgresError) in
            let route = SuspectRoute(
                route: RouteID(try row.int64()), environment: try row.stored(), topic: try row.text(),
                found: Int(try row.int64()), answered: Int(try row.int64()))
            return (route: route, borneOut: Int(try row.int64()))
        }
        return routes.compactMap { route, borneOut in
            let findings = RouteFindings(found: route.found, answered: route.answered, borneOut: borneOut)
            return rule.letsMove(findings) ? nil : route
        }
    }
}
