import Basis

/// Bounds how often a lane dials, whatever the reason. Providers treat rapid connecting and disconnecting as an attack.
package struct DialPace: Equatable, Sendable {
    package let burst: Int
    package let interval: Duration
    private var due: MonotonicInstant?

    package init(burst: Int, interval: Duration) {
        precondition(burst >= 1 && interval > .zero)
        (self.burst, self.interval) = (burst, interval)
    }

    /// The earliest instant of the next dial; nil: at once.
    package func earliest(_ now: MonotonicInstant) -> MonotonicInstant? {
        guard let due else { return nil }
        let free = due + .nanoseconds(-interval.wholeNanoseconds * Int64(burst - 1))
        return free <= now ? nil : free
    }

    package mutating func dialled(_ now: MonotonicInstant) { due = max(due ?? now, now) + interval }
}
