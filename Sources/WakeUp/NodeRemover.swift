import Signing
import Store

/// Removes nodes that are too large for one write, portion by portion.
package struct NodeRemover: Sendable {
    private let store: NodeStore
    private let database: DatabaseWatch
    /// Called after each portion: watched nodes may have changed.
    private let raised: @Sendable () -> Void

    /// A removal begins at most so much later.
    private static let pollEvery: Duration = .seconds(1)

    package init(store: NodeStore, database: DatabaseWatch, raised: @escaping @Sendable () -> Void) {
        (self.store, self.database, self.raised) = (store, database, raised)
    }

    /// Runs until its task is cancelled.
    package func run() async {
        while !Task.isCancelled {
            do {
                if try await removeNext() { continue }
            } catch { database.failed("removals of nodes delayed", error) }
            try? await Task.sleep(for: Self.pollEvery)
        }
    }

    /// Returns false if no node is to be removed.
    package func removeNext() async throws(StoreFault) -> Bool {
        guard try await store.removeNext(sha256: Hashes.sha256) else { return false }
        raised()
        return true
    }
}
