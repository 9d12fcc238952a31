import Glibc
import Synchronization

/// A bounded number of threads for work that can only block.
///
/// Threads start on demand, then wait for more work. They live as long as the process.
package final class BlockingPool: Sendable {
    /// The pool for the gateway's own work, name resolution and PostgreSQL's start. It never opens files that tenants
    /// upload: these could occupy every thread.
    package static let shared = BlockingPool(threadsMax: 4, waitingMax: 1_024)

    /// Work that is called exactly once: with nil to run, or with the reason why it can't.
    private typealias Work = @Sendable (ReactorError?) -> Void

    private struct State {
        var waiting: [Work] = []
        var threads = 0
        var idle = 0
    }

    private let state = Mutex(State())
    private let signal: Signal
    private let name: String
    private let threadsMax: Int
    private let waitingMax: Int

    package init(name: String = "blocking", threadsMax: Int, waitingMax: Int) {
        precondition(threadsMax > 0 && waitingMax > 0)
        (self.name, self.threadsMax, self.waitingMax) = (name, threadsMax, waitingMax)
        signal = Signal()
    }

    /// Throws what the work throws, or `ReactorError.poolIsFull`. Also throws the system's error if no thread runs and
    /// none could be started.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            submit { fault in
                if let fault {
                    continuation.resume(throwing: fault)
                } else {
                    continuation.resume(with: Result(catching: work))
                }
            }
        }
    }

    /// Counts the waiting work and adds to it under one lock, so that concurrent calls count each other.
    private func submit(_ work: @escaping Work) {
        let startsThread = state.withLock { state -> Bool? in
            guard state.waiting.count < waitingMax else { return nil }
            let startsThread = state.idle <= state.waiting.count && state.threads < threadsMax
            if startsThread { state.threads += 1 }
            state.waiting.append(work)
            return startsThread
        }
        guard let startsThread else { return work(.poolIsFull) }
        if startsThread { startThread() }
        signal.raise()
    }

    private func startThread() {
        do { try SystemThread(name: name) { self.serve() }.detach() } catch {
            // No thread is left, neither running nor starting, so the waiting work would wait for ever.
            let stranded = state.withLock { state in
                state.threads -= 1
                defer { if state.threads == 0 { state.waiting = [] } }
                return state.threads == 0 ? state.waiting : []
            }
            for work in stranded { work(error) }
        }
    }

    private func serve() {
        while true {
            let work = state.withLock { state -> Work? in
                if state.waiting.isEmpty {
                    state.idle += 1
                    return nil
                }
                return state.waiting.removeFirst()
            }
            if let work {
                work(nil)
                continue
            }
            signal.wait()
            state.withLock { $0.idle -= 1 }
        }
    }
}

@safe private final class Signal: @unchecked Sendable {
    // Proof for `@unchecked`: POSIX semaphores are thread-safe, and its address never changes.
    private let semaphore: UnsafeMutablePointer<sem_t>

    init() {
        unsafe semaphore = .allocate(capacity: 1)
        unsafe sem_init(semaphore, 0, 0)
    }

    deinit {
        unsafe sem_destroy(semaphore)
        unsafe semaphore.deallocate()
    }

    func raise() { unsafe sem_post(semaphore) }

    func wait() {
        while unsafe sem_wait(semaphore) != 0 {}
    }
}
