import Foundation
import Worlds

/// Which seeds a test run tries. The same in every run, so that red means changed code.
enum WorldSeeds {
    static let count: UInt64 = {
        guard let registration = ProcessInfo.processInfo.environment["CARILLON_SEEDS"], let count = UInt64(registration)
        else {
            return 300
        }
        return max(1, count)
    }()

    /// Small enough that the cores share them.
    static let batches: [Range<UInt64>] = stride(from: 1, through: count, by: 25).map { first in
        first..<min(first + 25, count + 1)
    }

    /// Each batch is run once, whoever asks for it; all of them begin with the first that is asked for.
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
