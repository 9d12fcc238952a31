import Model
import Store

/// Tells the other processes, through the database, that this one sends to a project. Each project in use does so every
/// second.
final class QuotaService: Sendable {
    private let store: CredentialStore
    private let process: ProcessID
    private let database: DatabaseWatch

    init(store: CredentialStore, process: ProcessID, database: DatabaseWatch) {
        (self.store, self.process, self.database) = (store, process, database)
    }

    /// - Returns: how many processes send to the project; nil: the database did not answer.
    func heartbeat(of project: String) async -> Int? {
        do { return try await store.countSenders(to: project, with: process) } catch {
            database.failed("project quotas not shared between processes", error)
            return nil
        }
    }
}
