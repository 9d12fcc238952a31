import Foundation
import Testing

/// Compares the simulated store, on which the worlds rely, with the real one.
@Suite("The simulated store and PostgreSQL", .serialized)
struct ConformanceTests {
    /// The number of sequences. Try more with `CARILLON_SEQUENCES=1000 swift test --filter ConformanceTests`.
    private static let sequences: UInt64 = {
        guard let registration = ProcessInfo.processInfo.environment["CARILLON_SEQUENCES"] else { return 20 }
        return UInt64(registration) ?? 20
    }()

    /// The first seed. `scripts/soak` tries other seeds than the suite.
    private static let first: UInt64 = {
        guard let registration = ProcessInfo.processInfo.environment["CARILLON_FIRST_SEQUENCE"] else { return 1 }
        return max(1, UInt64(registration) ?? 1)
    }()

    @Test("answer the same and store the same after every operation of a random sequence")
    func agree() async throws {
        try await ConformanceServer.visit { pool in
            var (groupsDeferred, groupsLeavingSome, told, slices) = (0, 0, 0, 0)
            var (fired, itemPushes, held) = (0, 0, 0)
            for seed in Self.first..<Self.first + max(1, Self.sequences) {
                var run = try await ConformanceRun(seed: seed, pool: pool)
                if let difference = try await run.run() {
                    Issue.record("\(difference)")
                    return
                }
                groupsDeferred += run.groupsDeferred
                groupsLeavingSome += run.groupsLeavingSome
                (told, slices) = (told + run.told, slices + run.slices)
                (fired, itemPushes, held) = (fired + run.fired, itemPushes + run.itemPushes, held + run.held)
            }
            // Fewer sequences may not meet all situations.
            guard Self.sequences >= 50 else { return }
            #expect(
                groupsDeferred > 0 && groupsLeavingSome > 0,
                "\(groupsDeferred) groups were deferred, \(groupsLeavingSome) in part: too few to compare")
            #expect(told > 0 && slices > 0, "\(told) wake-ups, \(slices) slices: too few to compare")
            #expect(
                fired > 0 && itemPushes > fired && held > 0,
                "\(fired) triggers fired, \(itemPushes) pushes of items, \(held) held: too few to compare")
        }
    }
}
