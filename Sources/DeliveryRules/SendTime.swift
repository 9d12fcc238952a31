import PushModel

/// When a message that names its hour is due.
package enum SendTime {
    /// Further ahead is a slip of the pen rather than a plan.
    package static let aheadMax: Duration = .seconds(366 * 86_400)
    /// A request may take its time to arrive, and clocks differ; what is later than this was meant for another hour.
    package static let lateMax: Duration = .seconds(3_600)

    /// nil: at once, also where its hour has just passed.
    package static func due(_ asked: WallInstant?, now: WallInstant) throws(SendTimeFault) -> WallInstant? {
        guard let asked else { return nil }
        if asked - now > aheadMax { throw .tooFarAhead }
        if now - asked > lateMax { throw .longPast }
        return asked > now ? asked : nil
    }
}

package enum SendTimeFault: Error, Equatable, Sendable {
    case tooFarAhead
    case longPast
}
