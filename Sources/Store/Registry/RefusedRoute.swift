import Basis
import Model
import Postgres
import QueueRules
import RegistryRules

/// A route whose latest answers blame so many tokens that its app's settings are probably wrong.
package struct RefusedRoute: Equatable, Sendable {
    package let route: RouteID
    /// The app's slug.
    package let app: String
    package let provider: Provider
    package let environment: PushEnvironment
    package let topic: String
    /// The answers within the window that ends with the latest one.
    package let sample: AnswerSample

    package init(
        route: RouteID, app: String, provider: Provider, environment: PushEnvironment, topic: String,
        sample: AnswerSample
    ) {
        (self.route, self.app, self.provider, self.environment) = (route, app, provider, environment)
        (self.topic, self.sample) = (topic, sample)
    }
}

extension ParcelStore {
    /// The routes that got answers within the time and whose latest ones are a batch of suspicions; those with the most
    /// suspicions first, a hundred at most.
    package func refusedRoutes(
        _ rule: SuspicionRule, within time: Duration, now: WallInstant? = nil
    ) async throws(StoreFault) -> [RefusedRoute] {
        let query = Query(VerdictSQL.refusedRoutes) {
            $0.int64("window_us", rule.window.wholeMicroseconds)
            $0.int64("within_us", time.wholeMicroseconds)
            $0.instant("now", now)
        }
        return try await translated(
            await pool.read(query).map(RefusedRoute.init).compactMap { $0 }.filter { rule.isBatch($0.sample) })
    }
}

extension RefusedRoute {
    /// nil: a newer program has providers of its own.
    fileprivate init?(_ row: inout Row) throws(PostgresError) {
        (route, app) = (RouteID(try row.int64()), try row.text())
        let (provider, environment) = (Provider(rawValue: try row.int16()), PushEnvironment(rawValue: try row.int16()))
        topic = try row.text()
        sample = AnswerSample(answered: Int(try row.int64()), suspected: Int(try row.int64()))
        guard let provider, let environment else { return nil }
        (self.provider, self.environment) = (provider, environment)
    }
}
