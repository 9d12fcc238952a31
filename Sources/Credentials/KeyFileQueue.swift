import Model
import Reactor

/// Opens key files on threads of their own, one at a time for each app.
///
/// Key files come from tenants, and one may cost a second of a core. So no app delays another's files for longer than
/// that. Name resolution and PostgreSQL's start, which run on `BlockingPool.shared`, never wait for them.
package actor KeyFileQueue {
    /// The number of an app's files that wait while one is opened. An operator submits a handful at once.
    package static let waitingPerAppMax = 16
    /// The pool of the process. Its two threads leave one to others during an app's costly file.
    package static let threads = BlockingPool(name: "key files", threadsMax: 2, waitingMax: 1_024)

    /// Apps with a file in `threads`, and their other files in the order of arrival.
    private var apps: [AppID: [CheckedContinuation<Void, Never>]] = [:]

    package init() {}

    /// Opens a file. Throws what the work throws, `.shareUsedUp` if too many files of this app wait, or `.overloaded`
    /// if too many apps have files to open.
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
