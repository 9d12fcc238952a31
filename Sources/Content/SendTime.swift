import Basis
import Model

package enum SendTime {
    /// A time further ahead is a mistake rather than a plan.
    package static let aheadMax: Duration = .seconds(366 * 86_400)
    /// Requests take time to arrive, and clocks differ. An hour that is later than this was meant for another time.
    package static let lateMax: Duration = .seconds(3_600)
    /// A message at a local hour starts this long before its first device is due, so that its audience is cut by then.
    package static let localLead: Duration = .seconds(600)

    /// The send hour that still applies; nil: none was asked for, or it has passed and late devices get it at once.
    package static func left(of asked: SendHour?, now: WallInstant) -> SendHour? {
        guard case .local(let sending) = asked, sending.sendsPassed, sending.hour.last < now else { return asked }
        return nil
    }

    /// nil: due at once, also if the hour has just passed.
    ///
    /// - Parameter firstDevice: when a message at a local hour reaches the first device of its audience; nil: not known.
    ///   The message is then due when the first clock anywhere shows the hour.
    package static func due(
        _ asked: SendHour?, now: WallInstant, firstDevice: WallInstant? = nil
    ) throws(SendTimeFault) -> WallInstant? {
        switch asked {
        case nil: return nil
        case .instant(let hour):
            if hour - now > aheadMax { throw .tooFarAhead }
            if now - hour > lateMax { throw .longPast }
            return hour > now ? hour : nil
        case .local(let sending):
            if sending.hour.inUTC - now > aheadMax { throw .tooFarAhead }
            if sending.hour.last < now { throw .pastEverywhere }
            let start = firstDevice.map { $0 + (.zero - localLead) } ?? sending.hour.first
            return start > now ? start : nil
        }
    }
}

package enum SendTimeFault: Error, Equatable, Sendable {
    case tooFarAhead
    case longPast
    /// The hour has passed on every clock.
    case pastEverywhere
}
