import TriggerRules

/// The thresholds of one item that differ in their bounds alone. They are a range of the key of `armed`.
struct ThresholdGroup: Sendable {
    let item: Int64
    let mode: UpdateMode
    let field: String
    let conversion: NumberConversion
    let comparison: TriggerComparison
}

/// The thresholds of a group with bounds in a range.
struct ArmedRange: Sendable {
    let group: ThresholdGroup
    let bounds: ClosedRange<Double>
}

extension TriggerComparison {
    /// The bounds of all thresholds that a number of the range may satisfy, as ranges that don't overlap.
    ///
    /// Those with a bound elsewhere are satisfied by no number of the range. Among the bounds of `==` and `!=` are some
    /// that only numbers satisfy which the field never had.
    func bounds(satisfiedBy numbers: ClosedRange<Double>) -> [ClosedRange<Double>] {
        let (lowest, highest) = (numbers.lowerBound, numbers.upperBound)
        return switch self {
        case .equal: [numbers]
        case .notEqual:
            lowest == highest
                ? [-Double.infinity...lowest.nextDown, lowest.nextUp...Double.infinity]
                : [-Double.infinity...Double.infinity]
        case .less: [lowest.nextUp...Double.infinity]
        case .atMost: [lowest...Double.infinity]
        case .more: [-Double.infinity...highest.nextDown]
        case .atLeast: [-Double.infinity...highest]
        }
    }
}
