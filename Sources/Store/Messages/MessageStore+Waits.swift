import Basis
import Model
import Postgres

/// Pushes that wait for a credential: until somebody hands one in, or its provider believes it again.
package struct CredentialWait: Equatable, Sendable {
    /// The app's slug.
    package let app: String
    package let provider: Provider
    package let environment: PushEnvironment
    /// Empty where the credential's only one is meant.
    package let topic: String
    /// What the provider says of the credential; nil where no active one covers them.
    package let refusal: String?
}

extension MessageStore {
    /// Of all apps, at most a hundred routes; uncounted, since a backlog may be long. `progress` counts one message's.
    package func waits(now: WallInstant? = nil) async throws(StoreFault) -> [CredentialWait] {
        try await translating { () throws(PostgresError) in
            let rows = try await pool.read(Query(WaitSQL.ofAll) { $0.instant(now) })
            var waits: [CredentialWait] = []
            for row in 0..<rows.rowCount {
                // A newer program's provider is its to tell of.
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
