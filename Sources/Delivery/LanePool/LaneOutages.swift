import Basis
import LaneRules
import Model
import ProviderInterface
import QueueRules
import Reactor
import Store
import Synchronization

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

/// Writes the reports of outages, one at a time. Nobody waits for it.
package actor OutageReports {
    /// Set by the engine at once: a wait for this actor would lose the order.
    private let outages = Mutex(LaneOutages())
    private let write: @Sendable ([LaneOutage]) async -> Bool
    private var isWriting = false

    /// - Parameter write: returns false if it failed.
    package init(write: @escaping @Sendable ([LaneOutage]) async -> Bool) { self.write = write }

    /// Reports the lanes that wait, in place of those reported before.
    package nonisolated func set(_ waits: [LaneWait]) {
        outages.withLock { $0.set(waits, now: Clocks.monotonicNow()) }
        writeSoon()
    }

    /// Writes a report that is due. Upkeep repeats one that failed.
    nonisolated func writeSoon() { Task { await writeDue() } }

    private func writeDue() async {
        guard !isWriting else { return }
        isWriting = true
        // Changes made meanwhile go into another report.
        while let due = outages.withLock({ $0.take(now: Clocks.monotonicNow()) }) {
            guard await write(due) else {
                outages.withLock { $0.reportFailed(now: Clocks.monotonicNow()) }
                break
            }
        }
        isWriting = false
    }
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
