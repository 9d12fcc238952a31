import Model
import Store
import Synchronization

/// Looks API keys up in the database: all that wait in one query, and one query at a time.
///
/// So invented keys, however many, cost few queries, and a valid key among them waits for two at most. No look-up is
/// refused: nothing tells a valid key from others before.
final class KeyLookups: Sendable {
    private typealias Waiter = (sha256: [UInt8], continuation: CheckedContinuation<Found, Never>)
    typealias Found = Result<APIKeyRecord?, StoreFault>

    private struct State {
        var waiting: [Waiter] = []
        var isRunning = false
    }

    private let store: KeyStore
    private let state = Mutex(State())

    init(store: KeyStore) { self.store = store }

    /// The result of a query that begins after the call.
    func find(_ sha256: [UInt8]) async -> Found {
        await withCheckedContinuation { continuation in
            let isFirst = state.withLock { state in
                state.waiting.append((sha256, continuation))
                defer { state.isRunning = true }
                return !state.isRunning
            }
            // One run looks up the keys of all callers.
            if isFirst { OwnWork.start { _ = Task { await run() } } }
        }
    }

    private func run() async {
        while true {
            let batch = state.withLock { state in
                defer { state.waiting = [] }
                state.isRunning = !state.waiting.isEmpty
                return state.waiting
            }
            if batch.isEmpty { return }
            let found: Result<[[UInt8]: APIKeyRecord], StoreFault>
            do throws(StoreFault) {
                found = .success(try await store.find(sha256: Array(Set(batch.map(\.sha256)))))
            } catch { found = .failure(error) }
            for (sha256, continuation) in batch { continuation.resume(returning: found.map { $0[sha256] }) }
        }
    }
}
