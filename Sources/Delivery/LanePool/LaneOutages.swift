import Basis
import LaneRules
import QueueRules
import Store

/// The lanes of this process that wait, and when they are reported next. A report counts for 60 seconds.
package struct LaneOutages {
    private var waits: [LaneWait] = []
    /// nil: nothing waits, and that was reported.
    private var dueAt: MonotonicInstant?
    private static let reportEvery: Duration = .seconds(15)

    package init() {}

    package mutating func set(_ waits: [LaneWait], now: MonotonicInstant) {
        guard waits != self.waits else { return }
        (self.waits, dueAt) = (waits, now)
    }

    /// Returns the outages to report now, in the order of their lanes; nil: none is due.
    package mutating func take(now: MonotonicInstant) -> [LaneOutage]? {
        guard let dueAt, dueAt <= now else { return nil }
        let outages = waits.sorted { $0.lane < $1.lane }.compactMap { LaneOutage($0, now: now) }
        self.dueAt = outages.isEmpty ? nil : now + Self.reportEvery
        return outages
    }

    package mutating func reportFailed(now: MonotonicInstant) { dueAt = now }
}

extension LaneOutage {
    /// nil: a refused credential has a row of its own.
    fileprivate init?(_ lane: LaneWait, now: MonotonicInstant) {
        let cause: Cause
        switch lane.wait.cause {
        case .unreachable, .tlsRefused: cause = .unreachable
        case .throttled: cause = .open(max(.zero, (lane.wait.until ?? now) - now))
        default: return nil
        }
        self.init(credential: lane.lane.credential, cause: cause, reason: lane.wait.reason, age: now - lane.wait.since)
    }
}
