import LaneRules
import Logging
import Model
import Store
import Synchronization

/// Asks for this process's parts of projects' quotas in the database, which all processes share.
///
/// Each project in use asks a few times a second, so only the beginning and the end of an outage are logged.
final class QuotaService: Sendable {
    private let store: CredentialStore
    private let process: ProcessID
    private let log: Logger
    private let isCutOff = Mutex(false)

    init(store: CredentialStore, process: ProcessID, log: Logger) {
        self.store = store
        self.process = process
        self.log = log
    }

    /// - Returns: nil if no part was granted: the last one is used up to its end.
    func answer(_ ask: QuotaRequest, of project: String) async -> QuotaGrant? {
        do {
            let grant = try await store.answer(ask, of: process, project: project)
            if changes(cutOff: false) { log.info("Project quotas are shared between processes again") }
            return grant
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
