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
        try await translating { () throws(PostgresError) in
            let rows = try await pool.read(Query(WaitSQL.ofAll) { $0.instant(now) })
            var waits: [CredentialWait] = []
            for row in 0..<rows.rowCount {
                // A newer program reports its own providers.
                guard let provider = Provider(rawValue: try rows.int16(row, 1)),
                    let environment = PushEnvironment(rawValue: try rows.int16(row, 2))
                else { continue }
                waits.append(
                    CredentialWait(
                        app: try rows.text(row, 0), provider: provider, environment: environment,
                        topic: try rows.text(row, 3), refusal: try rows.textOrNil(row, 4)))
            }
            return waits
        }
    }
}
