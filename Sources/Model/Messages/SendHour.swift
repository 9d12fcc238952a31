import Basis

package enum SendHour: Equatable, Sendable {
    case instant(WallInstant)
    case local(LocalSending)

    package var local: LocalSending? { if case .local(let sending) = self { sending } else { nil } }
}

/// A local date and time without a zone: a different instant in each time zone.
package struct LocalHour: Equatable, Sendable {
    /// The largest offsets of any time zone, ahead of UTC (Kiritimati) and behind it (Howland).
    package static let aheadMax: Duration = .seconds(14 * 3_600)
    package static let behindMax: Duration = .seconds(12 * 3_600)

    /// The number of slices that are cut as one. The hour falls on some thirty instants, each with its own parcels, and
    /// a larger slice fills them better.
    package static let slicesAtOnce = 4

    /// The instant at which a clock in UTC shows this time.
    package let inUTC: WallInstant
    package init(inUTC: WallInstant) { self.inUTC = inUTC }

    /// The instant at which the first clock anywhere shows it.
    package var first: WallInstant { inUTC + (.zero - Self.aheadMax) }
    /// The instant at which the last clock shows it.
    package var last: WallInstant { inUTC + Self.behindMax }
}

/// A message that is sent at an hour of each device's local time.
package struct LocalSending: Equatable, Sendable {
    package let hour: LocalHour
    /// Whether a device whose hour had already passed gets the message at once. Otherwise it gets none.
    package let sendsPassed: Bool

    package init(hour: LocalHour, sendsPassed: Bool = false) { (self.hour, self.sendsPassed) = (hour, sendsPassed) }

    /// When a device gets the message whose clock shows the hour at `instant`. nil: never, the hour had passed.
    package func sends(at instant: WallInstant, acceptedAt: WallInstant) -> WallInstant? {
        if instant >= acceptedAt { return instant }
        return sendsPassed ? acceptedAt : nil
    }
}
