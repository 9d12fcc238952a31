import Model
import Postgres

/// A topic of registered devices that no active credential covers.
package struct UncoveredTopic: Equatable, Sendable {
    /// The app's slug.
    package let app: String
    package let provider: Provider
    package let environment: PushEnvironment
    /// Empty: the devices name none.
    package let topic: String
    package let registrations: Int64

    package init(app: String, provider: Provider, environment: PushEnvironment, topic: String, registrations: Int64) {
        (self.app, self.provider, self.environment) = (app, provider, environment)
        (self.topic, self.registrations) = (topic, registrations)
    }
}

extension CredentialStore {
    /// Counting reads all registrations, some millions a second.
    private static let countingTime: Duration = .seconds(60)

    /// Returns the topics of all apps whose devices lack a credential: by app, those with the most devices first, a
    /// hundred at most. Reads all registrations.
    package func uncoveredTopics() async throws(StoreFault) -> [UncoveredTopic] {
        try await translated(
            await pool.read(Query(UncoveredTopicSQL.all), deadline: Self.countingTime).map(UncoveredTopic.init)
                .compactMap { $0 })
    }
}

extension UncoveredTopic {
    /// nil: a newer program has providers of its own.
    fileprivate init?(_ row: inout Row) throws(PostgresError) {
        app = try row.text()
        let (provider, environment) = (Provider(rawValue: try row.int16()), PushEnvironment(rawValue: try row.int16()))
        (topic, registrations) = (try row.text(), try row.int64())
        guard let provider, let environment else { return nil }
        (self.provider, self.environment) = (provider, environment)
    }
}
