import Glibc
import Synchronization

/// Holds a pool's thread until the test opens it.
final class BlockingPoolGate: Sendable {
    private let entered = Atomic(false)
    private let opened = Atomic(false)
    private let failed = Atomic(false)

    var isEntered: Bool { entered.load(ordering: .acquiring) }
    var hasFailed: Bool { failed.load(ordering: .acquiring) }

    func waitUntilOpen() {
        entered.store(true, ordering: .releasing)
        while !opened.load(ordering: .acquiring) { sched_yield() }
    }
    func open() { opened.store(true, ordering: .releasing) }
    func fail() { failed.store(true, ordering: .releasing) }
}

/// Blocks a pool's threads until the expected number of them has arrived.
final class BlockingPoolMeeting: Sendable {
    private let number: Int
    private let arrivals = Atomic(0)

    var come: Int { arrivals.load(ordering: .acquiring) }

    init(of number: Int) { self.number = number }

    /// Returns false if a thread has not arrived within ten seconds. Work that waits for a thread that is blocked here
    /// never arrives.
    func waitForAll() -> Bool {
        arrivals.add(1, ordering: .acquiringAndReleasing)
        for _ in 0..<100_000 {
            if come == number { return true }
            usleep(100)
        }
        return false
    }
}

/// Lets two tasks continue at the same moment if each has a thread, and does not delay a single one.
final class BlockingPoolStart: Sendable {
    private let arrivals = Atomic(0)

    func together() {
        arrivals.add(1, ordering: .acquiringAndReleasing)
        for _ in 0..<1_000_000 where arrivals.load(ordering: .acquiring) == 2 { return }
    }
}
