import Basis

/// How a message's rate is kept: parcels of it are leased in shares, and each share moves on the instant of the next one,
/// in the database's clock, by the time that its pushes take at the rate (decision 0025).
///
/// So the pushes that all processes together lease within any time are no more than the rate allows for it, and what
/// `slack` and one share come to.
package enum MessagePace {
    /// A share is so much of a second, or one push.
    package static let quantaPerSecond: Int32 = 10
    /// Shares of more pushes are smaller, down to so much of a second: a share leaves in one go, and of few large ones a
    /// second has now one more, now one less.
    package static let fineQuantaPerSecond: Int32 = 25
    /// What a share may be, in pushes, before it is made smaller: each costs a transaction.
    package static let coarseQuantumMax: Int32 = 500
    /// What a lease that comes late may catch up with. Longer would be a burst, shorter is lost at a busy moment.
    package static let slack: Duration = .milliseconds(200)
    /// A message whose leased and unanswered pushes would last so long is asked for no more, by this process: what a
    /// provider that answers late may have before it.
    package static let secondsOpenMax = 2
    /// A rate that is said while the message runs counts from then on: what it owes from before is forgiven beyond this.
    package static let debtMax: Duration = .seconds(1)
    /// No share is further away than this: an instant that lies beyond it was written before the clock was set back, and
    /// counts for nothing. Leases that did not wait hold up the shares behind them for no longer either.
    package static let waitMax: Duration = .seconds(60)
    /// Another process may have a share in hand at this moment: who asks again at once would ask in a circle.
    package static let askAgainFloor: Duration = .milliseconds(5)

    /// How many of `pending` pushes one lease may take.
    package static func quantum(of pending: Int, perSecond: Int32) -> Int {
        let fine = max(coarseQuantumMax, perSecond / fineQuantaPerSecond)
        return min(pending, max(1, Int(min(perSecond / quantaPerSecond, fine))))
    }

    /// A message of which a lane of this process has so much without a stream is asked for no more there: a share. That
    /// leaves at once when a lane goes on that stood still, or that its provider let out little of.
    package static func unsentMax(perSecond: Int32) -> Int { quantum(of: .max, perSecond: perSecond) }

    /// When the next share may be leased, of which `next` is stored.
    package static func instant(_ next: WallInstant, now: WallInstant) -> WallInstant {
        next > now + waitMax ? now : next
    }

    /// When the share after one of `pushes` may be leased.
    package static func next(after pushes: Int, from next: WallInstant, perSecond: Int32, now: WallInstant)
        -> WallInstant
    {
        let earliest = WallInstant(microseconds: now.microseconds - slack.wholeNanoseconds / 1_000)
        let then = max(instant(next, now: now), earliest)
        return min(then + .microseconds(Int64(pushes) * 1_000_000 / Int64(perSecond)), now + waitMax)
    }
}
