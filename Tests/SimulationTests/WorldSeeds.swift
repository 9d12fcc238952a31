import DrySimulation
import Foundation

/// Which seeds a test run tries. The same in every run, so that red means changed code.
enum WorldSeeds {
    static let count: UInt64 = {
        guard let said = ProcessInfo.processInfo.environment["CARILLON_SEEDS"], let count = UInt64(said) else {
            return 2_000
        }
        return max(1, count)
    }()

    /// With more seeds than the suite's own, the census is printed.
    static var tellsMore: Bool { count > 2_000 }

    /// Small enough that the cores share them.
    static let batches: [Range<UInt64>] = stride(from: 1, through: count, by: 25).map { first in
        first..<min(first + 25, count + 1)
    }

    /// The seed first, then what broke, then how it came to that.
    static func report(_ seed: UInt64, _ violation: Violation, _ world: SimulatedWorld) -> String {
        let head = "seed \(seed): \(violation) (after \(world.events) events)"
        let modules = ["DrySimulation.", "PushModel.", "DeliveryRules.", "FCM."]
        let lines = world.trail.lines.map { line in
            String(modules.reduce(line) { $0.replacingOccurrences(of: $1, with: "") }.prefix(200))
        }
        return ([head] + lines).joined(separator: "\n")
    }
}

/// What a batch of seeds came to. Each batch is run once, whoever asks for it.
struct WorldHarvest: Sendable {
    /// Of the first seed that broke a promise.
    private(set) var report: String?
    private(set) var census = WorldCensus()

    private init(_ seeds: Range<UInt64>) {
        for seed in seeds {
            var world = SimulatedWorld(plan: WorldPlan(seed: seed))
            if let violation = world.run(), report == nil { report = WorldSeeds.report(seed, violation, world) }
            census.add(world)
        }
    }

    private static let batches = WorldSeeds.batches.map { batch in Task.detached { WorldHarvest(batch) } }

    /// All of them begin with the first that is asked for.
    static func of(_ batch: Range<UInt64>) async -> WorldHarvest {
        guard let place = WorldSeeds.batches.firstIndex(of: batch) else { return WorldHarvest(batch) }
        return await batches[place].value
    }
}
