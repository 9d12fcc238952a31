extension [Double] {
    /// Of an even number, half way between the two in the middle. 0 of nothing.
    package var median: Double {
        guard !isEmpty else { return 0 }
        let sorted = sorted()
        return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2
    }
}
