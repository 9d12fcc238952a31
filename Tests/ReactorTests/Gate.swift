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
