import Logging
import Model
import Store
import Synchronization

/// Tells the other processes, through the database, that this one sends to a project. Each project in use does so every
/// second, so only the beginning and the end of an outage are logged.
final class QuotaService: Sendable {
    private let store: CredentialStore
    private let process: ProcessID
    private let log: Logger
    private let isCutOff = Mutex(false)

    init(store: CredentialStore, process: ProcessID, log: Logger) {
        (self.store, self.process, self.log) = (store, process, log)
    }

    /// - Returns: how many processes send to the project; nil: the database did not answer.
    func heartbeat(of project: String) async -> Int? {
        do {
            let processes = try await store.countSenders(to: project, with: process)
            if changes(cutOff: false) { log.info("Project quotas are shared between processes again") }
            return processes
        } catch {
            if changes(cutOff: true) {
                log.warning(
                    "Project quota could not be shared between processes",
                    metadata: ["project": "\(project)", "fault": "\(error)"])
            }
            return nil
        }
    }

    private func changes(cutOff: Bool) -> Bool {
        isCutOff.withLock { isCutOff in
            defer { isCutOff = cutOff }
            return isCutOff != cutOff
        }
    }
}
