import Basis

/// Keeps a message to its rate. Its parcels are leased in quanta. Each quantum moves the instant of the next one by the
/// time that its pushes take at the rate (decision 0025). Instants are in the database's clock.
///
/// So the pushes that all processes together lease within any time exceed the rate by no more than `slack` and one
/// quantum.
package enum MessagePace {
    /// A quantum is this fraction of a second, or one push.
    package static let quantaPerSecond: Int32 = 10
    /// Larger quanta shrink down to this fraction of a second. A quantum leaves in one burst, and with a few large ones
    /// a second gets now one more, now one less.
    package static let fineQuantaPerSecond: Int32 = 25
    /// The most pushes in a quantum before it shrinks: each costs a transaction.
    package static let coarseQuantumMax: Int32 = 500
    /// The time that a late lease may catch up with. A longer one would be a burst; a shorter one loses time at a busy
    /// moment.
    package static let slack: Duration = .milliseconds(200)
    /// Seconds of leased and unanswered pushes at which this process asks for no more of a message. Bounds the pushes
    /// that wait for the answers of a slow provider.
    package static let secondsOpenMax = 2
    /// The largest debt that a message keeps when its rate changes while it runs. Any debt beyond it is forgiven.
    package static let debtMax: Duration = .seconds(1)
    /// The longest wait for a quantum. A stored instant beyond it was written before the clock was set back, and counts
    /// for nothing. Leases that did not wait delay the quanta behind them no longer than this either.
    package static let waitMax: Duration = .seconds(60)
    /// The shortest pause before asking again while another process has the quantum: asking at once would be a busy
    /// loop.
    package static let askAgainFloor: Duration = .milliseconds(5)

    /// The number of `pending` pushes that one lease may take.
    package static func quantum(of pending: Int, perSecond: Int32) -> Int {
        let fine = max(coarseQuantumMax, perSecond / fineQuantaPerSecond)
        return min(pending, max(1, Int(min(perSecond / quantaPerSecond, fine))))
    }

    /// The unsent pushes at which a lane of this process asks for no more of a message: one quantum. They leave at once
    /// when a blocked or throttled lane goes on.
    package static func unsentMax(perSecond: Int32) -> Int { quantum(of: .max, perSecond: perSecond) }

    /// When the next quantum may be leased, given the stored instant `next`.
    package static func instant(_ next: WallInstant, now: WallInstant) -> WallInstant {
        next > now + waitMax ? now : next
    }

    /// When the quantum after one of `pushes` may be leased.
    package static func next(after pushes: Int, from next: WallInstant, perSecond: Int32, now: WallInstant)
        -> WallInstant
    {
        let earliest = WallInstant(microseconds: now.microseconds - slack.wholeNanoseconds / 1_000)
        let then = max(instant(next, now: now), earliest)
        return min(then + .microseconds(Int64(pushes) * 1_000_000 / Int64(perSecond)), now + waitMax)
    }
}
