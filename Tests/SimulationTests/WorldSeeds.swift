import Foundation

/// Which seeds a test run tries. The same in every run, so that red means changed code.
enum WorldSeeds {
    static let count: UInt64 = {
        guard let said = ProcessInfo.processInfo.environment["CARILLON_SEEDS"], let count = UInt64(said) else {
            return 1_000
        }
        return max(1, count)
    }()

    /// With more seeds than the suite's own, the census is printed.
    static var tellsMore: Bool { count > 1_000 }

    /// Small enough that the cores share them.
    static let batches: [Range<UInt64>] = stride(from: 1, through: count, by: 25).map { first in
        first..<min(first + 25, count + 1)
    }

    /// The seed first, then what broke, then how it came to that.
    static func report(_ seed: UInt64, _ violation: Violation, _ world: SimulatedWorld) -> String {
        let head = "seed \(seed): \(violation) (after \(world.events) events)"
        let modules = ["SimulationTests.", "PushModel.", "DeliveryRules."]
        let lines = world.trail.lines.map { line in
            String(modules.reduce(line) { $0.replacingOccurrences(of: $1, with: "") }.prefix(200))
        }
        return ([head] + lines).joined(separator: "\n")
    }
}
