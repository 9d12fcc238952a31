import Basis
import Model
import Postgres

/// Pushes of one route that wait for a credential, a token, a topic or their provider.
package struct RouteWait: Equatable, Sendable {
    /// The app's slug.
    package let app: String
    package let provider: Provider
    package let environment: PushEnvironment
    /// Empty if the credential's only topic is meant.
    package let topic: String
    /// One of `PushWait.Cause.reported`, `credential` or `credentialRefused`.
    package let cause: PushWait.Cause
    /// The provider's word, or a text for people.
    package let reason: String?
    /// nil: unknown.
    package let since: WallInstant?

    package init(
        app: String, provider: Provider, environment: PushEnvironment, topic: String, cause: PushWait.Cause,
        reason: String? = nil, since: WallInstant? = nil
    ) {
        (self.app, self.provider, self.environment, self.topic) = (app, provider, environment, topic)
        (self.cause, self.reason, self.since) = (cause, reason, since)
    }
}

extension MessageStore {
    /// The waits of all apps, at most a hundred routes. They are not counted, since a backlog may be long. `progress`
    /// counts one message's.
    package func waits(now: WallInstant? = nil) async throws(StoreFault) -> [RouteWait] {
        try await read(Query(WaitSQL.ofAll) { $0.instant("now", now) }, RouteWait.init).compactMap { $0 }
    }
}

extension RouteWait {
    /// nil: a newer program reports its own providers and causes.
    fileprivate init?(_ row: inout Row) throws(PostgresError) {
        app = try row.text()
        let (provider, environment) = (Provider(rawValue: try row.int16()), PushEnvironment(rawValue: try row.int16()))
        topic = try row.text()
        let cause = PushWait.Cause(rawValue: try row.int16())
        reason = try row.textOrNil().flatMap { $0.isEmpty ? nil : $0 }
        since = try row.instantOrNil()
        guard let provider, let environment, let cause else { return nil }
        (self.provider, self.environment, self.cause) = (provider, environment, cause)
    }
}
