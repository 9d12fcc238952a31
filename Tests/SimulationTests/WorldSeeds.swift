import Foundation
import Worlds

/// The seeds that a test run tries: the same in every run, so that red means changed code.
enum WorldSeeds {
    static let count: UInt64 = {
        guard let registration = ProcessInfo.processInfo.environment["CARILLON_SEEDS"], let count = UInt64(registration)
        else {
            return 300
        }
        return max(1, count)
    }()

    /// Batches small enough to spread over the cores.
    static let batches: [Range<UInt64>] = stride(from: 1, through: count, by: 25).map { first in
        first..<min(first + 25, count + 1)
    }

    /// The results of the batches. Each batch runs once, however many tests ask for it; all start when the first result
    /// is asked for.
    private static let harvests = batches.map { batch in Task.detached { WorldTotals(batch) } }

    /// The census of all batches together.
    static func census() async -> WorldCensus {
        var census = WorldCensus()
        for batch in batches { census.add(await harvest(of: batch).census) }
        return census
    }

    static func harvest(of batch: Range<UInt64>) async -> WorldTotals {
        guard let place = batches.firstIndex(of: batch) else { return WorldTotals(batch) }
        return await harvests[place].value
    }
}
