import Foundation
import Testing

@Suite("A simulated HTTP/2 connection")
struct WetWorldTests {
    /// The same in every run. Others: `CARILLON_WET_SEEDS=200000 CARILLON_FIRST_WET_SEED=2001 swift test ...`.
    private static func input(_ name: String, else fallback: UInt64) -> UInt64 {
        ProcessInfo.processInfo.environment[name].flatMap { UInt64($0) } ?? fallback
    }

    @Test("ends each push once and as the peer treated it, in 2,000 seeded runs with faults")
    func seeds() throws {
        let first = Self.input("CARILLON_FIRST_WET_SEED", else: 1)
        let count = Self.input("CARILLON_WET_SEEDS", else: 2_000)
        var seen: [WetWorld.Trouble: Int] = [:]
        for seed in first..<(first + count) {
            let world = try WetWorld(seed: seed)
            do { try world.run() } catch { Issue.record("seed \(seed) threw: \(error)") }
            #expect(world.faults.isEmpty, "seed \(seed): \(world.faults.first ?? "")")
            for trouble in world.troubles { seen[trouble, default: 0] += 1 }
        }
        for trouble in WetWorld.Trouble.allCases where count >= 2_000 {
            #expect(seen[trouble, default: 0] >= 50, "\(trouble) occurred in \(seen[trouble, default: 0]) worlds")
        }
    }

    @Test("repeats exactly for the same seed")
    func replay() throws {
        for seed in UInt64(1)...20 {
            let (one, other) = (try WetWorld(seed: seed), try WetWorld(seed: seed))
            try one.run()
            try other.run()
            #expect(one.pushes == other.pushes)
        }
    }
}
