import Postgres
import PushModel

/// Pushes that wait for a credential: until somebody hands one in, or its provider believes it again.
package struct CredentialWait: Equatable, Sendable {
    /// The app's slug.
    package let app: String
    package let provider: Provider
    package let environment: PushEnvironment
    /// Empty where the credential's only one is meant.
    package let topic: String
    /// nil where they were not counted.
    package let pushes: Int64?
    /// What the provider says of the credential; nil where no active one covers them.
    package let refusal: String?
}

extension MessageStore {
    /// Of one message, at most a hundred routes.
    package func waits(
        app: AppID, id: MessageID, now: WallInstant? = nil
    ) async throws(StoreFault) -> [CredentialWait] {
        try await waits(
            Query(WaitSQL.ofMessage) {
                $0.int64(app.value)
                $0.uuid(id.value)
                $0.instant(now)
            })
    }

    /// Of all apps, at most a hundred routes; uncounted, since a backlog may be long.
    package func waits(now: WallInstant? = nil) async throws(StoreFault) -> [CredentialWait] {
        try await waits(Query(WaitSQL.ofAll) { $0.instant(now) })
    }

    private func waits(_ query: Query) async throws(StoreFault) -> [CredentialWait] {
        try await translating { () throws(PostgresError) in
            let rows = try await pool.read(query)
            var waits: [CredentialWait] = []
            for row in 0..<rows.rowCount {
                // A newer program's provider is its to tell of.
                guard let provider = Provider(rawValue: try rows.int16(row, 1)),
                    let environment = PushEnvironment(rawValue: try rows.int16(row, 2))
                else { continue }
                waits.append(
                    CredentialWait(
                        app: try rows.text(row, 0), provider: provider, environment: environment,
                        topic: try rows.text(row, 3), pushes: try rows.int64OrNil(row, 4),
                        refusal: try rows.textOrNil(row, 5)))
            }
            return waits
        }
    }
}
