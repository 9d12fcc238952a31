import FCM
import LaneRules
import Logging
import Model
import Store
import Synchronization

/// Where this process asks for its parts of projects' quotas: in the database, which all processes share.
///
/// Asked a few times a second by each project that is sent to, so that an outage is told once, and its end.
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

    /// - Returns: nil where no part was given: the last one is used up to its end.
    func answer(_ ask: QuotaRequest, of project: FCMProject) async -> QuotaGrant? {
        do {
            let grant = try await store.answer(ask, of: process, project: project.name)
            if changes(cutOff: false) { log.info("Projects' quotas are shared again") }
            return grant
        } catch {
            if changes(cutOff: true) {
                log.warning(
                    "A project's quota could not be shared",
                    metadata: ["project": "\(project.name)", "fault": "\(error)"])
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
