import Signing
import Store
import WakeUpStore

/// Removes nodes that are too large for one write, portion by portion.
package struct NodeRemover: Sendable {
    private let store: NodeStore
    /// Called after each portion: watched nodes may have changed.
    private let raised: @Sendable () -> Void

    package init(store: NodeStore, raised: @escaping @Sendable () -> Void) {
        (self.store, self.raised) = (store, raised)
    }

    /// Returns false if no node is to be removed.
    package func removeNext() async throws(StoreFault) -> Bool {
        guard try await store.removeNext(sha256: Hashes.sha256) else { return false }
        raised()
        return true
    }
}
