import Basis
import Model
import Postgres

/// Pushes that wait for a credential, until one is handed in or its provider accepts it again.
package struct CredentialWait: Equatable, Sendable {
    /// The app's slug.
    package let app: String
    package let provider: Provider
    package let environment: PushEnvironment
    /// Empty if the credential's only topic is meant.
    package let topic: String
    /// The provider's reason for refusing the credential; nil: no active one covers the pushes.
    package let refusal: String?
}

extension MessageStore {
    /// The waits of all apps, at most a hundred routes. They are not counted, since a backlog may be long. `progress`
    /// counts one message's.
    package func waits(now: WallInstant? = nil) async throws(StoreFault) -> [CredentialWait] {
        try await read(Query(WaitSQL.ofAll) { $0.instant("now", now) }, CredentialWait.init).compactMap { $0 }
    }
}

extension CredentialWait {
    /// nil: a newer program reports its own providers.
    fileprivate init?(_ row: inout Row) throws(PostgresError) {
        app = try row.text()
        let (provider, environment) = (Provider(rawValue: try row.int16()), PushEnvironment(rawValue: try row.int16()))
        topic = try row.text()
        refusal = try row.textOrNil()
        guard let provider, let environment else { return nil }
        (self.provider, self.environment) = (provider, environment)
    }
}
