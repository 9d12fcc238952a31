/// Percentiles of a sample, by nearest rank.
package struct Percentiles {
    private let sorted: [Duration]

    /// - Parameter sample: not empty.
    package init(_ sample: [Duration]) {
        precondition(!sample.isEmpty)
        sorted = sample.sorted()
    }

    package var count: Int { sorted.count }

    /// - Parameter share: from 0 up to 1.
    package func value(at share: Double) -> Duration {
        sorted[max(0, min(sorted.count, Int((share * Double(sorted.count)).rounded(.up))) - 1)]
    }

    /// In milliseconds.
    package var all: [(name: String, value: Double)] {
        [("p50", 0.5), ("p90", 0.9), ("p99", 0.99), ("max", 1)].map { ($0.0, value(at: $0.1) / .milliseconds(1)) }
    }
}
