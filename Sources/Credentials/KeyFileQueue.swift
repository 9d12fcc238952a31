import Model
import Reactor

/// Opens key files on threads of their own, one at a time for each app.
///
/// Key files come from tenants, and one may cost a second of a core. So no app delays another's files for longer than
/// that. Name resolution and PostgreSQL's start, which run on `BlockingPool.shared`, never wait for them.
package struct KeyFileQueue: Sendable {
    /// The number of an app's files that wait while one is opened. An operator submits a handful at once.
    package static let waitingPerAppMax = 16
    /// The pool of the process. Its two threads leave one to others during an app's costly file.
    package static let threads = BlockingPool(name: "key files", threadsMax: 2, waitingMax: 1_024)

    private let slots = AppSlots(atOnceMax: 1)

    package init() {}

    /// Opens a file. Throws what the work throws, `.shareUsedUp` if too many files of this app wait, or `.overloaded`
    /// if too many apps have files to open.
    package func open<Value: Sendable>(
        for app: AppID, _ work: @escaping @Sendable () throws(CredentialFault) -> Value
    ) async throws(CredentialFault) -> Value {
        let opened = await slots.run(for: app, waitingMax: Self.waitingPerAppMax) {
            () async -> Result<Value, CredentialFault> in
            do { return .success(try await Self.threads.run(work)) } catch {
                return .failure(error as? CredentialFault ?? .overloaded)
            }
        }
        guard let opened else { throw .shareUsedUp }
        return try opened.get()
    }
}
