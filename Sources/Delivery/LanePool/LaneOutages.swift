import Basis
import LaneRules
import Model
import ProviderInterface
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

extension LaneWait {
    /// The wait, with the provider's word for its throttling; nil or empty: it gave none.
    func quoting(_ throttling: AnswerQuote?) -> LaneWait {
        guard wait.cause == .throttled, let throttling, !throttling.reason.isEmpty else { return self }
        return LaneWait(lane, wait.quoting(throttling.reason), of: route)
    }
}

extension LaneOutage {
    /// nil: the cause is seen without a report.
    fileprivate init?(_ lane: LaneWait, now: MonotonicInstant) {
        guard let cause = lane.wait.cause.reported else { return nil }
        let isOpen = cause == .throttled
        self.init(
            credential: lane.lane.credential, route: lane.route, cause: cause,
            openFor: isOpen ? max(.zero, (lane.wait.until ?? now) - now) : nil, reason: lane.wait.reason,
            age: now - lane.wait.since)
    }
}

extension LaneCause {
    /// The cause as users read it.
    ///
    /// nil: it needs no report. A refused credential has a row of its own (`lane_blocks`), a missing one has none, and
    /// one that is being opened ends by itself.
    package var reported: PushWait.Cause? {
        switch self {
        case .unreachable, .tlsRefused: .unreachable
        case .throttled: .throttled
        case .tokenMissing: .token
        case .credentialUnusable: .credentialUnusable
        case .topicRefused: .topicRefused
        case .topicMissing: .topicMissing
        case .credentialRefused, .credentialPending, .credentialUnknown: nil
        }
    }
}
