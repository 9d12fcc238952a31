import Synchronization

/// Equal reads share one. Each caller gets a value that was read after it had asked.
///
/// A read that is under way may be older than the change that the caller was notified of. So the caller joins the next
/// one.
package final class SharedReads<Key: Hashable & Sendable, Value: Sendable>: Sendable {
    private typealias Waiter = CheckedContinuation<Value, Never>

    /// The callers that wait for the next read, by the key of the one under way. No entry: none is under way.
    private let callers = Mutex<[Key: [Waiter]]>([:])

    package init() {}

    package func value(_ key: Key, _ read: @escaping @Sendable () async -> Value) async -> Value {
        await withCheckedContinuation { (caller: Waiter) in
            let isFirst = callers.withLock { callers in
                guard callers[key] == nil else {
                    callers[key]?.append(caller)
                    return false
                }
                callers[key] = []
                return true
            }
            // A task of its own: the others must not depend on whether the first caller is cancelled.
            if isFirst { Task { await self.read(key, for: [caller], read) } }
        }
    }

    /// The number of callers that wait for a read that has not begun.
    package var waiting: Int { callers.withLock { $0.values.reduce(0) { $0 + $1.count } } }

    private func read(_ key: Key, for first: [Waiter], _ read: @escaping @Sendable () async -> Value) async {
        var reading = first
        while !reading.isEmpty {
            let value = await read()
            for caller in reading { caller.resume(returning: value) }
            reading = callers.withLock { callers in
                let next = callers[key] ?? []
                callers[key] = next.isEmpty ? nil : []
                return next
            }
        }
    }
}
