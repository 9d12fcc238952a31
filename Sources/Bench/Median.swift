extension [Double] {
    /// The median; with an even count, the mean of the two middle values. 0 if empty.
    package var median: Double {
        guard !isEmpty else { return 0 }
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }
}
