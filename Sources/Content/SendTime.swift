import Basis
import Model

/// When a message that names its hour is due.
package enum SendTime {
    /// Further ahead is a slip of the pen rather than a plan.
    package static let aheadMax: Duration = .seconds(366 * 86_400)
    /// A request may take its time to arrive, and clocks differ; what is later than this was meant for another hour.
    package static let lateMax: Duration = .seconds(3_600)

    /// What is left of what was asked for: an hour that no clock will show any more, and that is sent all the same to those
    /// whom it comes too late for, is none.
    package static func left(of asked: SendHour?, now: WallInstant) -> SendHour? {
        guard case .local(let sending) = asked, sending.sendsPassed, sending.hour.last < now else { return asked }
        return nil
    }

    /// nil: at once, also where its hour has just passed. A local one is due when the first clock anywhere shows it.
    package static func due(_ asked: SendHour?, now: WallInstant) throws(SendTimeFault) -> WallInstant? {
        switch asked {
        case nil: return nil
        case .instant(let hour):
            if hour - now > aheadMax { throw .tooFarAhead }
            if now - hour > lateMax { throw .longPast }
            return hour > now ? hour : nil
        case .local(let sending):
            if sending.hour.inUTC - now > aheadMax { throw .tooFarAhead }
            if sending.hour.last < now { throw .pastEverywhere }
            return sending.hour.first > now ? sending.hour.first : nil
        }
    }
}

package enum SendTimeFault: Error, Equatable, Sendable {
    case tooFarAhead
    case longPast
    /// No clock will show this hour any more.
    case pastEverywhere
}
