import Basis
import Reactor
import Synchronization
import Testing

/// An actor that lives on a loop, as transport and database connections do.
private actor Pinned: PinnedActor {
    nonisolated let loop: ReactorLoop
    private(set) var calls = 0
    init(_ loop: ReactorLoop) { self.loop = loop }

    func call() -> Bool {
        calls += 1
        return loop.isCurrent
    }
}

/// Records the calls of a loop. Lives on the loop.
private final class EventRecorder: TimerHandler, TickHandler, ReadinessHandler {
    var tags: [UInt64] = []
    var ticks = 0
    var readiness: [Readiness] = []
    var onTimer: (UInt64) -> Void = { _ in }
    var onReady: (Int32) -> Void = { _ in }

    func timerFired(tag: UInt64) {
        tags.append(tag)
        onTimer(tag)
    }
    func tickEnds() { ticks += 1 }
    func descriptorIsReady(_ descriptor: Int32, _ readiness: Readiness) {
        self.readiness.append(readiness)
        onReady(descriptor)
    }
}

/// Runs work on the loop and hands its value back.
func onLoop<Value: Sendable>(_ loop: ReactorLoop, _ work: @escaping @Sendable () throws -> Value) async throws -> Value
{
    try await withCheckedThrowingContinuation { continuation in
        loop.perform { continuation.resume(with: Result(catching: work)) }
    }
}

@Suite("A reactor loop", .timeLimit(.minutes(5)))
struct ReactorLoopTests {
    @Test("runs actors that are pinned to it on its own thread")
    func pinnedActors() async throws {
        let loop = try ReactorLoop(name: "test")
        defer { loop.stop() }
        let pinned = Pinned(loop)
        for _ in 0..<100 { #expect(await pinned.call()) }
        #expect(await pinned.calls == 100)
        #expect(!loop.isCurrent)
    }

    @Test("lets its callbacks call a pinned actor without an executor hop")
    func assumeIsolated() async throws {
        let loop = try ReactorLoop(name: "test")
        defer { loop.stop() }
        let pinned = Pinned(loop)
        _ = await pinned.call()
        let calls = try await onLoop(loop) { pinned.assumeIsolated { $0.calls } }
        #expect(calls == 1)
    }

    @Test("keeps the order of jobs submitted by one thread")
    func order() async throws {
        let loop = try ReactorLoop(name: "test")
        defer { loop.stop() }
        let seen = Mutex<[Int]>([])
        for number in 0..<10_000 { loop.perform { seen.withLock { $0.append(number) } } }
        try await onLoop(loop) {}
        #expect(seen.withLock { $0 } == Array(0..<10_000))
    }

    @Test("loses no job when many threads submit at once")
    func crowd() async throws {
        let loop = try ReactorLoop(name: "test")
        defer { loop.stop() }
        let pinned = Pinned(loop)
        await withTaskGroup(of: Void.self) { group in
            for _ in 0..<64 { group.addTask { for _ in 0..<200 { _ = await pinned.call() } } }
        }
        #expect(await pinned.calls == 64 * 200)
    }

    @Test("fires timers by deadline, equal ones in the order set, and cancelled ones never")
    func timers() async throws {
        let loop = try ReactorLoop(name: "test")
        defer { loop.stop() }
        let tags: [UInt64] = try await withCheckedThrowingContinuation { continuation in
            loop.perform {
                let recorder = EventRecorder()
                let start = loop.now
                _ = loop.schedule(at: start + .milliseconds(20), tag: 3, recorder)
                _ = loop.schedule(at: start + .milliseconds(5), tag: 1, recorder)
                _ = loop.schedule(at: start + .milliseconds(5), tag: 2, recorder)
                let cancelled = loop.schedule(at: start + .milliseconds(6), tag: 99, recorder)
                loop.cancel(cancelled)
                loop.cancel(cancelled)
                recorder.onTimer = { [unowned recorder] in
                    if $0 == 3 { continuation.resume(returning: recorder.tags) }
                }
            }
        }
        #expect(tags == [1, 2, 3])
    }

    @Test("never fires a timer before its deadline")
    func notEarly() async throws {
        let loop = try ReactorLoop(name: "test")
        defer { loop.stop() }
        let late: Duration = try await withCheckedThrowingContinuation { continuation in
            loop.perform {
                let recorder = EventRecorder()
                let deadline = Clocks.monotonicNow() + .microseconds(2_300)
                _ = loop.schedule(at: deadline, tag: 1, recorder)
                recorder.onTimer = { _ in continuation.resume(returning: Clocks.monotonicNow() - deadline) }
            }
        }
        #expect(late >= .zero)
    }

    @Test("calls each end-of-turn handler once, after the turn's work")
    func turnEnd() async throws {
        let loop = try ReactorLoop(name: "test")
        defer { loop.stop() }
        let recorder = try await onLoop(loop) { () -> UnsafeBox<EventRecorder> in
            let recorder = EventRecorder()
            loop.atEndOfTick(recorder)
            #expect(recorder.ticks == 0)
            return UnsafeBox(recorder)
        }
        try await onLoop(loop) { #expect(recorder.value.ticks == 1) }
        try await onLoop(loop) { #expect(recorder.value.ticks == 1) }
    }

    @Test("runs jobs that were submitted before it was stopped")
    func stop() throws {
        let loop = try ReactorLoop(name: "test")
        let count = Mutex(0)
        for _ in 0..<1_000 { loop.perform { count.withLock { $0 += 1 } } }
        loop.stop()
        loop.stop()
        #expect(count.withLock { $0 } == 1_000)
    }

    @Test("stops when its own thread asks for it")
    func stopFromInside() async throws {
        let loop = try ReactorLoop(name: "test")
        try await onLoop(loop) { loop.stop() }
    }
}

@Suite("A timer heap under random operations", .timeLimit(.minutes(5)))
struct TimerHeapTests {
    @Test("fires exactly the timers that were not cancelled, in order", arguments: [1, 7, 42] as [UInt64])
    func model(seed: UInt64) async throws {
        let loop = try ReactorLoop(name: "test")
        defer { loop.stop() }
        let (fired, expected): ([UInt64], [UInt64]) = try await withCheckedThrowingContinuation { continuation in
            loop.perform {
                let recorder = EventRecorder()
                var state = seed
                func chance(_ bound: UInt64) -> UInt64 {
                    state = state &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
                    return (state >> 33) % bound
                }
                var alive: [(id: TimerID, deadline: Int64, tag: UInt64)] = []
                let base = loop.now.nanoseconds - 1_000_000
                for tag in 0..<2_000 as Range<UInt64> {
                    let deadline = base + Int64(chance(500))
                    let id = loop.schedule(at: MonotonicInstant(nanoseconds: deadline), tag: tag, recorder)
                    alive.append((id, deadline, tag))
                    if chance(3) == 0 {
                        let victim = alive.remove(at: Int(chance(UInt64(alive.count))))
                        loop.cancel(victim.id)
                    }
                }
                let expected = alive.sorted { ($0.deadline, $0.tag) < ($1.deadline, $1.tag) }.map(\.tag)
                recorder.onTimer = { [unowned recorder] _ in
                    if recorder.tags.count == expected.count {
                        continuation.resume(returning: (recorder.tags, expected))
                    }
                }
            }
        }
        #expect(fired == expected)
    }
}

/// Carries a loop-bound object between closures that all run on that loop.
struct UnsafeBox<Value>: @unchecked Sendable {
    let value: Value
    init(_ value: Value) { self.value = value }
}
