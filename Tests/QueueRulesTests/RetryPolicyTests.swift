import QueueRules
import Testing

@Suite("The wait before the next attempt")
struct RetryPolicyTests {
    @Test("doubles from the floor to the ceiling")
    func doubles() {
        let policy = RetryPolicy(floor: .seconds(1), ceiling: .seconds(10))
        #expect((1...6).map { policy.wait(afterAttempt: $0, entropy: 0) } == [1, 2, 4, 8, 10, 10].map { .seconds($0) })
    }

    @Test("doubles from the provider's Retry-After, and never falls below it")
    func asked() {
        let policy = RetryPolicy(floor: .seconds(1), ceiling: .seconds(100))
        let waits = (1...5).map { policy.wait(afterAttempt: $0, asked: .seconds(20), entropy: 0) }
        #expect(waits == [20, 40, 80, 100, 100].map { .seconds($0) })
        #expect(policy.wait(afterAttempt: 3, asked: .seconds(500), entropy: 0) == .seconds(500))
        #expect(policy.wait(afterAttempt: 3, asked: .seconds(Int64.max), entropy: 9) >= .seconds(9_000_000_000))
    }

    @Test("grows by a quarter at most, so that retries spread")
    func spreads() {
        let policy = RetryPolicy(floor: .seconds(100), ceiling: .seconds(100))
        let waits = (0..<2_048).map { policy.wait(afterAttempt: 1, entropy: $0) }
        #expect(waits.allSatisfy { $0 >= .seconds(100) && $0 <= .seconds(125) })
        #expect(waits.contains { $0 > .seconds(120) })
    }

    @Test("stays the same for the same push and attempt")
    func replays() {
        let policy = RetryPolicy()
        #expect(policy.wait(afterAttempt: 4, entropy: 77) == policy.wait(afterAttempt: 4, entropy: 77))
    }

    @Test("stays at the ceiling however many attempts there were")
    func manyAttempts() {
        #expect(RetryPolicy().wait(afterAttempt: .max, entropy: 0) == .seconds(900))
    }

    @Test("rounds up to whole seconds, and never becomes negative")
    func wholeSeconds() {
        #expect(RetryPolicy.wholeSeconds(.milliseconds(1)) == .seconds(1))
        #expect(RetryPolicy.wholeSeconds(.seconds(3)) == .seconds(3))
        #expect(RetryPolicy.wholeSeconds(.seconds(-5)) == .zero)
    }

    @Test("accepts the longest Retry-After without an overflow")
    func absurd() {
        #expect(RetryPolicy.wholeSeconds(.seconds(Int64.max)) >= .seconds(9_000_000_000))
    }
}
