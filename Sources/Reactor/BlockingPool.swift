import Glibc
import Synchronization

/// A bounded number of threads for what can only block: getaddrinfo, PKCS#12, initdb.
///
/// Threads start as work comes, and then wait for more; they live as long as the process.
package final class BlockingPool: Sendable {
    package static let shared = BlockingPool(threadsMax: 4, waitingMax: 1_024)

    private struct State {
        var waiting: [(number: UInt64, work: @Sendable () -> Void)] = []
        var submitted: UInt64 = 0
        var threads = 0
        var idle = 0
    }

    private let state = Mutex(State())
    private let signal: Signal
    private let threadsMax: Int
    private let waitingMax: Int

    package init(threadsMax: Int, waitingMax: Int) {
        precondition(threadsMax > 0 && waitingMax > 0)
        self.threadsMax = threadsMax
        self.waitingMax = waitingMax
        signal = Signal()
    }

    /// Throws what the work throws, or `ReactorError.poolIsFull`.
    package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
        try await withCheckedThrowingContinuation { continuation in
            do {
                try submit { continuation.resume(with: Result(catching: work)) }
            } catch {
                continuation.resume(throwing: error)
            }
        }
    }

    /// Counting who waits and joining them is one step: of two that come at once, one sees the other.
    private func submit(_ work: @escaping @Sendable () -> Void) throws(ReactorError) {
        let (number, startsThread) = try state.withLock { state throws(ReactorError) -> (UInt64, Bool) in
            guard state.waiting.count < waitingMax else { throw .poolIsFull }
            let startsThread = state.idle <= state.waiting.count && state.threads < threadsMax
            if startsThread { state.threads += 1 }
            state.submitted += 1
            state.waiting.append((state.submitted, work))
            return (state.submitted, startsThread)
        }
        if startsThread { try startThread(for: number) }
        signal.raise()
    }

    /// Throws where the system gives no thread and none runs that could take the work, which is then withdrawn.
    private func startThread(for number: UInt64) throws(ReactorError) {
        do {
            try SystemThread(name: "blocking") { self.serve() }.detach()
        } catch {
            let isWithdrawn = state.withLock { state in
                state.threads -= 1
                guard state.threads == 0, let place = state.waiting.firstIndex(where: { $0.number == number }) else {
                    return false
                }
                state.waiting.remove(at: place)
                return true
            }
            if isWithdrawn { throw error }
        }
    }

    private func serve() {
        while true {
            let work = state.withLock { state -> (@Sendable () -> Void)? in
                if state.waiting.isEmpty {
                    state.idle += 1
                    return nil
                }
                return state.waiting.removeFirst().work
            }
            if let work {
                work()
                continue
            }
            signal.wait()
            state.withLock { $0.idle -= 1 }
        }
    }
}

/// A counting semaphore.
@safe private final class Signal: @unchecked Sendable {
    // Proof for `@unchecked`: a POSIX semaphore is made for threads, and its address never changes.
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
