import Credentials
import Glibc
import Model
import Reactor
import Synchronization
import Testing

/// Serialized, because these tests occupy the threads that the process has for key files.
@Suite("Key files that are being opened", .serialized, .timeLimit(.minutes(1)))
struct KeyFileQueueTests {
    /// Holds threads until the test opens it.
    private final class Gate: Sendable {
        private let entered = Atomic(0)
        private let isOpen = Atomic(false)

        var count: Int { entered.load(ordering: .acquiring) }
        func open() { isOpen.store(true, ordering: .releasing) }
        func wait() {
            entered.add(1, ordering: .acquiringAndReleasing)
            while !isOpen.load(ordering: .acquiring) { sched_yield() }
        }
    }

    @Test("block neither name resolution nor the start of PostgreSQL")
    func apart() async throws {
        let queue = KeyFileQueue()
        let gate = Gate()
        defer { gate.open() }
        let files = (Int64(1)...4).map { app in Task { try await queue.open(for: AppID(app)) { gate.wait() } } }
        // There are as many files as threads for keys.
        while gate.count < 2 { await Task.yield() }
        #expect(try await !NameResolver.resolve(host: "localhost", port: 443).isEmpty)
        // The pool of `PrivateServer`.
        #expect(try await BlockingPool.shared.run { 7 } == 7)
        gate.open()
        for file in files { try await file.value }
    }

    @Test("open one at a time for each app, beside those of other apps")
    func oneAtATime() async throws {
        let queue = KeyFileQueue()
        let (first, second) = (Gate(), Gate())
        defer {
            first.open()
            second.open()
        }
        let own = (0..<3).map { _ in Task { try await queue.open(for: AppID(1)) { first.wait() } } }
        while first.count < 1 { await Task.yield() }
        let other = Task { try await queue.open(for: AppID(2)) { second.wait() } }
        // It has a thread although three files of the first app came before it.
        while second.count < 1 { await Task.yield() }
        #expect(first.count == 1)
        second.open()
        try await other.value
        first.open()
        for file in own { try await file.value }
        #expect(first.count == 3)
    }

    @Test("fail at once if too many of their app wait, and later ones succeed")
    func full() async throws {
        let queue = KeyFileQueue()
        let gate = Gate()
        defer { gate.open() }
        let running = Task { try await queue.open(for: AppID(1)) { gate.wait() } }
        while gate.count < 1 { await Task.yield() }
        // One more than may wait: one of them fails at once.
        let results = await withTaskGroup(of: CredentialFault?.self) { group in
            for _ in 0...KeyFileQueue.waitingPerAppMax {
                group.addTask {
                    do throws(CredentialFault) { try await queue.open(for: AppID(1)) {} } catch { return error }
                    return nil
                }
            }
            let refused = await group.next() ?? nil
            gate.open()
            return await group.reduce(into: [refused]) { $0.append($1) }
        }
        #expect(results.first == .shareUsedUp)
        #expect(results.dropFirst().allSatisfy { $0 == nil })
        try await running.value
        try await queue.open(for: AppID(1)) {}
    }
}
