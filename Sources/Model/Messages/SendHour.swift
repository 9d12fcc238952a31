import Basis

/// The hour that a message names.
package enum SendHour: Equatable, Sendable {
    /// The same everywhere.
    case instant(WallInstant)
    /// One for each clock.
    case local(LocalSending)
}

/// What the clock on the wall shows, wherever it hangs: an instant in each time zone.
package struct LocalHour: Equatable, Sendable {
    /// No clock on earth is further ahead of UTC (Kiritimati), or further behind it (Howland).
    package static let aheadMax: Duration = .seconds(14 * 3_600)
    package static let behindMax: Duration = .seconds(12 * 3_600)

    /// How many slices of an audience are cut in one: a day's clocks show an hour at some thirty instants, each with
    /// parcels of its own, and out of more members each gets more.
    package static let slicesAtOnce = 4

    /// When a clock in UTC shows it.
    package let inUTC: WallInstant
    package init(inUTC: WallInstant) { self.inUTC = inUTC }

    /// When the first clock anywhere shows it.
    package var first: WallInstant { inUTC + (.zero - Self.aheadMax) }
    /// When the last one does.
    package var last: WallInstant { inUTC + Self.behindMax }
}

/// A message that leaves at an hour of each device's own clock.
package struct LocalSending: Equatable, Sendable {
    package let hour: LocalHour
    /// Whom it comes too late for gets it at once; else that one gets none.
    package let sendsPassed: Bool

    package init(hour: LocalHour, sendsPassed: Bool = false) {
        self.hour = hour
        self.sendsPassed = sendsPassed
    }

    /// When a push leaves whose device's clock shows the hour at `instant`; nil: never, since that was past when the
    /// message was accepted.
    package func sends(at instant: WallInstant, acceptedAt: WallInstant) -> WallInstant? {
        if instant >= acceptedAt { return instant }
        return sendsPassed ? acceptedAt : nil
    }
}
