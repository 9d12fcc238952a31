import Basis
import Glibc
import Synchronization

package struct Interest: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let read = Interest(rawValue: 1)
    package static let write = Interest(rawValue: 2)
}

/// The readiness that the kernel reports. `hungUp` and `failed` are reported without being asked for.
package struct Readiness: OptionSet, Sendable {
    package let rawValue: UInt8
    package init(rawValue: UInt8) { self.rawValue = rawValue }
    package static let readable = Readiness(rawValue: 1)
    package static let writable = Readiness(rawValue: 2)
    package static let hungUp = Readiness(rawValue: 4)
    package static let failed = Readiness(rawValue: 8)
}

/// Called on the loop's thread. Level-triggered: called again in the next tick as long as the descriptor is ready.
package protocol ReadinessHandler: AnyObject {
    func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness)
}

/// Called on the loop's thread, once, not before the deadline.
package protocol TimerHandler: AnyObject {
    func timerFired(tag: UInt64)
}

/// Called on the loop's thread after the tick's timers, descriptors and jobs: the place to flush what they gathered.
package protocol TickHandler: AnyObject {
    func tickEnds()
}

/// One thread around one epoll: descriptors, timers, and the jobs of the actors pinned to it.
///
/// A tick: wait, read the clock, fire timers, report descriptors, run the mailbox's items, call the tick handlers.
/// Handlers are held strongly until unwatched, fired or cancelled, and run one at a time.
///
/// After `stop()` the thread runs what its mailbox holds and ends. Jobs that arrive later never run, so the actors that
/// live on a loop must end before it is stopped.
package final class ReactorLoop: SerialExecutor, @unchecked Sendable {
    // Proof for `@unchecked Sendable`: `mailbox` is Sendable and `threadMark` is atomic. `thread` and `poller` are
    // written in `init` only. All else is touched on the loop's thread only (`precondition(isCurrent)`).
    private let mailbox: Mailbox
    private let threadMark = Atomic<UInt>(0)
    private let hasStopped = Atomic<Bool>(false)
    private var thread: SystemThread?
    let poller: Poller

    var watches: [Watch] = []
    var timers = TimerHeap()
    private var tickHandlers: [any TickHandler] = []
    private var tickHandlersRunning: [any TickHandler] = []
    private var items: [Mailbox.MailboxItem] = []
    private var tickStart = Clocks.monotonicNow()

    package init(name: String) throws(ReactorError) {
        mailbox = try Mailbox()
        poller = try Poller()
        try poller.add(mailbox.descriptor, .read, mark: ReactorLoop.mailboxMark)
        // The thread keeps the loop alive until it is stopped.
        thread = try SystemThread(name: name) { self.runUntilStopped() }
    }

    package func enqueue(_ job: consuming ExecutorJob) { mailbox.deliver(.job(UnownedJob(job))) }

    package nonisolated func asUnownedSerialExecutor() -> UnownedSerialExecutor {
        unsafe UnownedSerialExecutor(ordinary: self)
    }

    package func checkIsolated() { precondition(isCurrent, "the caller is on this loop's thread") }

    package func isIsolatingCurrentContext() -> Bool? { isCurrent }

    package var isCurrent: Bool { threadMark.load(ordering: .relaxed) == pthread_self() }

    /// Runs the work on the loop, never at once, and after all items handed over before.
    package func perform(_ work: @escaping @Sendable () -> Void) { mailbox.deliver(.work(work)) }

    /// Asks the thread to end, and waits for it unless called on it. A second call does nothing.
    package func stop() {
        guard !hasStopped.exchange(true, ordering: .relaxed) else { return }
        mailbox.stop()
        if isCurrent { thread?.detach() } else { thread?.join() }
    }

    /// The instant at which this tick began. It is read once per tick, so all events of a tick share it.
    package var now: MonotonicInstant {
        precondition(isCurrent)
        return tickStart
    }

    /// Calls the handler once, at the end of this tick, or of the next one if called inside `tickEnds()`.
    package func atEndOfTick(_ handler: any TickHandler) {
        precondition(isCurrent)
        tickHandlers.append(handler)
    }

    package func schedule(at deadline: MonotonicInstant, tag: UInt64, _ handler: any TimerHandler) -> TimerID {
        precondition(isCurrent)
        return timers.schedule(at: deadline, tag: tag, handler)
    }

    /// Cancels the timer. Safe if it has already fired.
    package func cancel(_ timer: TimerID) {
        precondition(isCurrent)
        timers.cancel(timer)
    }
}

extension ReactorLoop {
    /// The mark of the mailbox's eventfd among the epoll events. Marks of descriptors have fewer bits.
    static let mailboxMark = UInt64.max

    private func runUntilStopped() {
        threadMark.store(pthread_self(), ordering: .relaxed)
        var isStopping = false
        while !isStopping {
            let count = wait()
            tickStart = Clocks.monotonicNow()
            while let due = timers.popDue(tickStart) { due.handler.timerFired(tag: due.tag) }
            for index in 0..<count { dispatch(index) }
            isStopping = mailbox.take(into: &items)
            runItems()
            endTick()
        }
        leaveNothing()
    }

    private func wait() -> Int {
        let mayWait = tickHandlers.isEmpty && mailbox.fallAsleep()
        return poller.wait(milliseconds: mayWait ? timeoutMilliseconds() : 0)
    }

    /// The time until the earliest timer, rounded up, because a tick before it would be wasted.
    private func timeoutMilliseconds() -> Int32 {
        guard let earliest = timers.earliest else { return -1 }
        let nanoseconds = earliest.nanoseconds.subtractingReportingOverflow(Clocks.monotonicNow().nanoseconds)
        guard !nanoseconds.overflow, nanoseconds.partialValue > 0 else { return nanoseconds.overflow ? -1 : 0 }
        return Int32(clamping: (nanoseconds.partialValue - 1) / 1_000_000 + 1)
    }

    private func runItems() {
        for letter in items {
            switch letter {
            case .job(let job): unsafe job.runSynchronously(on: asUnownedSerialExecutor())
            case .work(let work): work()
            }
        }
        items.removeAll(keepingCapacity: items.count <= ReactorLoop.itemsKept)
    }

    /// A larger array, left by a burst, is given back to the allocator.
    private static let itemsKept = 4_096

    private func endTick() {
        swap(&tickHandlers, &tickHandlersRunning)
        for handler in tickHandlersRunning { handler.tickEnds() }
        tickHandlersRunning.removeAll(keepingCapacity: true)
    }

    private func dispatch(_ index: Int) {
        let mark = poller.mark(at: index)
        if mark == ReactorLoop.mailboxMark { return mailbox.clearWakeUp() }
        deliver(poller.readiness(at: index), mark: mark)
    }

    /// Breaks the cycles between the loop and its handlers.
    private func leaveNothing() {
        watches = []
        timers = TimerHeap()
        tickHandlers = []
    }
}
