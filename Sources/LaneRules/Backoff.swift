import Basis

/// The pause between failed dials. It doubles from the floor to the ceiling.
///
/// Spread over the upper half of each step, so that a thousand lanes that lost their provider together don't return
/// together.
package struct Backoff: Equatable, Sendable {
    package var floor: Duration
    package var ceiling: Duration

    package init(floor: Duration, ceiling: Duration) {
        precondition(floor > .zero && ceiling >= floor)
        (self.floor, self.ceiling) = (floor, ceiling)
    }

    /// - Parameter failures: the number in a row, at least 1.
    package func delay(afterFailures failures: Int, entropy: UInt64) -> Duration {
        precondition(failures >= 1)
        let doublings = Int64(min(failures - 1, Backoff.doublingsMax))
        let step = min(floor.wholeNanoseconds << doublings, ceiling.wholeNanoseconds)
        let jitter = Int64(entropy % UInt64(Backoff.jitterSteps)) * (step / 2) / Backoff.jitterSteps
        return .nanoseconds(step - jitter)
    }

    /// 2^20 seconds are twelve days: every ceiling is lower, and no shift overflows.
    private static let doublingsMax = 20
    private static let jitterSteps: Int64 = 1_024
}
