import Model
import Reactor

/// Opens key files on threads of their own, one at a time for each app.
///
/// Key files come from tenants, and one may cost a second of a core. So no app holds up another's files for longer
/// than that, and neither name resolution nor PostgreSQL's start, which run on `BlockingPool.shared`, wait for them.
package actor KeyFileQueue {
    /// Files of one app that wait for the file that is being opened. An operator hands in a handful at once.
    package static let waitingPerAppMax = 16
    /// One for the process. Two threads, so that one app's costly file leaves a thread to the others.
    package static let threads = BlockingPool(name: "key files", threadsMax: 2, waitingMax: 1_024)

    /// Apps with a file in `threads`, and what else waits for its turn.
    private var apps: [AppID: [CheckedContinuation<Void, Never>]] = [:]

    package init() {}

    /// Throws what the work throws, `.shareUsedUp` where as many files of this app wait as may, or `.overloaded` where
    /// too many apps have files to open.
    package func open<Value: Sendable>(
        for app: AppID, _ work: @escaping @Sendable () throws(CredentialFault) -> Value
    ) async throws(CredentialFault) -> Value {
        try await waitForSlot(of: app)
        defer { releaseSlot(of: app) }
        do {
            return try await Self.threads.run(work)
        } catch {
            throw error as? CredentialFault ?? .overloaded
        }
    }

    private func waitForSlot(of app: AppID) async throws(CredentialFault) {
        guard let waiting = apps[app] else {
            apps[app] = []
            return
        }
        guard waiting.count < Self.waitingPerAppMax else { throw .shareUsedUp }
        await withCheckedContinuation { apps[app]?.append($0) }
    }

    private func releaseSlot(of app: AppID) {
        guard var waiting = apps.removeValue(forKey: app), !waiting.isEmpty else { return }
        let next = waiting.removeFirst()
        apps[app] = waiting
        next.resume()
    }
}
