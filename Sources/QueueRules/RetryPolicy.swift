import Basis

/// Decides when a push is tried again that was not refused for good, and when retries stop.
///
/// Waits double from the floor, or the provider's own, to the ceiling. Only waits that we chose cost the budget: none of
/// a pause that the provider asked for, nor of a wait for us (a blocked lane, a credential, a stop).
package struct RetryPolicy: Equatable, Sendable {
    /// Shorter would hammer a provider that is already struggling.
    package var floor: Duration
    /// Apple asks for 15 minutes between attempts after a 5xx; we arrive there by doubling.
    package var ceiling: Duration
    /// The waits of our own choice that a push may spend on retries. A longer budget would outlive the push's meaning.
    package var budget: Duration

    /// The wait after a refusal that only a person can mend, if nothing else delays the push. A shorter one would earn
    /// refusals, which cost streams. A longer one delays pushes after the repair.
    package let credentialPause: Duration = .seconds(15)

    package init(floor: Duration = .seconds(1), ceiling: Duration = .seconds(900), budget: Duration = .seconds(7_200)) {
        precondition(floor > .zero && ceiling >= floor && budget >= floor)
        (self.floor, self.ceiling, self.budget) = (floor, ceiling, budget)
    }

    /// The wait after the given attempt (1 is the first), in whole seconds rounded up, so that remainders gather.
    /// `entropy` spreads retries: the same value gives the same wait, up to a quarter longer than the plain doubling.
    /// - Parameter asked: the provider's minimum; the doubling begins there, and never ends below it.
    package func wait(afterAttempt attempt: Int, asked: Duration = .zero, entropy: UInt64) -> Duration {
        let bare = bareWait(afterAttempt: attempt, asked: asked)
        // No jitter on a wait near the largest duration: the sum would overflow.
        guard bare <= Int64.max / 2 else { return RetryPolicy.wholeSeconds(.nanoseconds(bare)) }
        // A pause of hours that was asked for gets no more jitter than our own longest wait.
        let jitterMax = min(bare, ceiling.wholeNanoseconds) / 4
        return RetryPolicy.wholeSeconds(.nanoseconds(bare + Int64(entropy % 1_024) * jitterMax / 1_024))
    }

    /// The part of a wait that counts against the budget: what we added to the provider's pause by doubling it.
    package func cost(of wait: Duration, afterAttempt attempt: Int, asked: Duration) -> Duration {
        bareWait(afterAttempt: attempt, asked: asked) <= asked.wholeNanoseconds ? .zero : wait - asked
    }

    /// The wait without its jitter, in nanoseconds.
    private func bareWait(afterAttempt attempt: Int, asked: Duration) -> Int64 {
        precondition(attempt >= 1)
        let first = max(floor.wholeNanoseconds, asked.wholeNanoseconds)
        let ceiling = max(ceiling.wholeNanoseconds, asked.wholeNanoseconds)
        var bare = min(first, ceiling)
        for _ in 1..<min(attempt, RetryPolicy.doublingsMax) where bare < ceiling {
            bare = bare > ceiling / 2 ? ceiling : bare * 2
        }
        return bare
    }

    /// From one second, so many doublings make more than any ceiling.
    private static let doublingsMax = 21

    package static func wholeSeconds(_ wait: Duration) -> Duration {
        // Saturated, because a provider may ask for the largest duration, and a sum would overflow.
        let (seconds, remaining) = max(0, wait.wholeNanoseconds).quotientAndRemainder(dividingBy: 1_000_000_000)
        return .seconds(remaining == 0 ? seconds : seconds + 1)
    }
}
