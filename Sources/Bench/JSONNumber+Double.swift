import JSON

extension JSONNumber {
    /// Returns nil for NaN and the infinities, which JSON can't express.
    init?(_ double: Double) {
        guard double.isFinite else { return nil }
        self = Int64(exactly: double).map(JSONNumber.whole) ?? .literal(double.description)
    }
}
