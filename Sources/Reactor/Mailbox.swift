import CShims
import Glibc
import Synchronization

/// The jobs and plain work that other threads hand to a loop, in order.
///
/// The loop takes all items at once. Only the first delivery after the loop fell asleep wakes it; the others of that
/// batch cost no more than a lock.
final class Mailbox: Sendable {
    enum MailboxItem: Sendable {
        case job(UnownedJob)
        case work(@Sendable () -> Void)
    }

    private struct State: ~Copyable {
        var items: [MailboxItem] = []
        /// The loop is in `epoll_wait`, or about to be.
        var isAsleep = false
        var isStopping = false
    }

    private let state = Mutex(State())
    /// An eventfd, readable while a wake-up is pending.
    let descriptor: Int32

    init() throws(ReactorError) {
        descriptor = eventfd(0, Int32(EFD_NONBLOCK | EFD_CLOEXEC))
        guard descriptor >= 0 else { throw .system(call: "eventfd", .last) }
    }

    deinit { close(descriptor) }

    func deliver(_ item: MailboxItem) { change { $0.items.append(item) } }

    func stop() { change { $0.isStopping = true } }

    private func change(_ body: (inout sending State) -> Void) {
        let mustWake = state.withLock { state in
            body(&state)
            defer { state.isAsleep = false }
            return state.isAsleep
        }
        if mustWake { wake() }
    }

    /// Notes that the loop is about to wait. Returns false if items or the order to stop are there: it must not wait
    /// then.
    func fallAsleep() -> Bool {
        state.withLock { state in
            state.isAsleep = state.items.isEmpty && !state.isStopping
            return state.isAsleep
        }
    }

    /// Takes all items and leaves the empty `items` behind for the next ones. Returns whether to stop.
    func take(into items: inout [MailboxItem]) -> Bool {
        precondition(items.isEmpty)
        return state.withLock { state in
            state.isAsleep = false
            swap(&items, &state.items)
            return state.isStopping
        }
    }

    private func wake() {
        var one: UInt64 = 1
        // The write fails only if the counter is full, and then a wake-up is pending anyway.
        _ = unsafe write(descriptor, &one, 8)
    }

    func clearWakeUp() {
        var count: UInt64 = 0
        _ = unsafe read(descriptor, &count, 8)
    }
}
