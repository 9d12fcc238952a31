import Basis

/// When a push that was not refused for good is tried again, and when we stop.
///
/// Waits double from the floor, or the provider's own, to the ceiling. What waits for us (a blocked lane, a credential,
/// a pause) costs nothing of the budget; what waits for the provider does.
package struct RetryPolicy: Equatable, Sendable {
    /// Shorter would hammer a provider that is already struggling.
    package var floor: Duration
    /// Apple asks for 15 minutes between attempts after a 5xx; we arrive there by doubling.
    package var ceiling: Duration
    /// Waiting that a push may spend on retries, lane blocks not counted. Longer would outlive its meaning.
    package var budget: Duration

    /// After a refusal that only a person can mend, where nothing else keeps the push back. Shorter would earn refusals,
    /// which cost streams; longer keeps pushes waiting after the mending.
    package let credentialPause: Duration = .seconds(15)

    package init(floor: Duration = .seconds(1), ceiling: Duration = .seconds(900), budget: Duration = .seconds(7_200)) {
        precondition(floor > .zero && ceiling >= floor && budget >= floor)
        self.floor = floor
        self.ceiling = ceiling
        self.budget = budget
    }

    /// The wait after the given attempt (1 is the first), in whole seconds rounded up, so that remainders gather.
    ///
    /// `entropy` spreads the herd: the same value gives the same wait, up to a quarter longer than the bare doubling.
    /// - Parameter asked: what the provider asks for at least; the doubling begins there, and never ends below it.
    package func wait(afterAttempt attempt: Int, asked: Duration = .zero, entropy: UInt64) -> Duration {
        precondition(attempt >= 1)
        let first = max(floor.wholeNanoseconds, asked.wholeNanoseconds)
        let ceiling = max(ceiling.wholeNanoseconds, asked.wholeNanoseconds)
        var bare = min(first, ceiling)
        for _ in 1..<min(attempt, RetryPolicy.doublingsMax) where bare < ceiling {
            bare = bare > ceiling / 2 ? ceiling : bare * 2
        }
        // Who asks for the end of time gets no more than that.
        guard bare <= Int64.max / 2 else { return RetryPolicy.wholeSeconds(.nanoseconds(bare)) }
        let jitter = Int64(entropy % 1_024) * (bare / 4) / 1_024
        return RetryPolicy.wholeSeconds(.nanoseconds(bare + jitter))
    }

    /// From a second this is more than a week: every ceiling is below.
    private static let doublingsMax = 21

    package static func wholeSeconds(_ wait: Duration) -> Duration {
        // Saturated where a provider asks for the end of time: nothing may be added to that.
        let (seconds, remaining) = max(0, wait.wholeNanoseconds).quotientAndRemainder(dividingBy: 1_000_000_000)
        return .seconds(remaining == 0 ? seconds : seconds + 1)
    }
}
