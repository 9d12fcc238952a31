import Basis
import LaneRules
import QueueRules
import Store

/// The lanes of this process whose provider can't be reached or whose breaker is open, and whether that was reported.
package struct LaneOutages {
    private struct Outage {
        let began: MonotonicInstant
        let reason: String
    }

    private struct BreakerSpan {
        /// When the breaker opened first. Later openings with only half-open tries in between don't change it.
        let began: MonotonicInstant
        let latest: OpenBreaker
    }

    private var running: [LaneKey: Outage] = [:]
    private var openBreakers: [LaneKey: BreakerSpan] = [:]
    /// True if something began or ended since the last report.
    private var hasChanged = false
    /// The time of the last report; nil: none since the last outage ended.
    private var reportedAt: MonotonicInstant?
    /// A quarter of the 60 seconds after which a report no longer counts.
    private static let reportEvery: Duration = .seconds(15)
    /// This long after `until`, the breaker would have been reported open again or closed.
    private static let openMemory = LaneThrottle.memory + .seconds(5)

    package init() {}

    /// Begins or updates an outage. A new reason is reported, but is not news.
    /// - Returns: true for the first failed dial of an outage.
    package mutating func begin(of lane: LaneKey, _ reason: String, now: MonotonicInstant) -> Bool {
        let known = running[lane]
        if known?.reason != reason {
            running[lane] = Outage(began: known?.began ?? now, reason: reason)
            hasChanged = true
        }
        return known == nil
    }

    /// Records that the lane's provider can be reached.
    package mutating func end(of lane: LaneKey) {
        if running.removeValue(forKey: lane) != nil { hasChanged = true }
    }

    /// - Returns: true if the breaker opened anew, false if it stays open for longer.
    package mutating func noteOpen(_ lane: LaneKey, _ breaker: OpenBreaker) -> Bool {
        let known = openBreakers[lane]
        openBreakers[lane] = BreakerSpan(began: known?.began ?? breaker.since, latest: breaker)
        hasChanged = true
        return known?.latest.since != breaker.since
    }

    /// Records that the lane's provider accepts pushes again.
    package mutating func noteClosed(of lane: LaneKey) {
        if openBreakers.removeValue(forKey: lane) != nil { hasChanged = true }
    }

    /// Ends outages of lanes that are no longer open.
    package mutating func endAll(but open: [LaneKey]) {
        for lane in running.keys.sorted() where !open.contains(lane) { end(of: lane) }
    }

    package mutating func endAll() {
        hasChanged = hasChanged || !running.isEmpty || !openBreakers.isEmpty
        (running, openBreakers) = ([:], [:])
    }

    package func areChanged(now: MonotonicInstant) -> Bool {
        let areAny = !running.isEmpty || !openBreakers.isEmpty
        return hasChanged || (areAny && reportedAt.map { now - $0 >= Self.reportEvery } ?? true)
    }

    /// Returns the outages to report now, in the order of their lanes. A lane that is unreachable and has an open
    /// breaker is reported as unreachable.
    package mutating func take(now: MonotonicInstant) -> [LaneOutage] {
        openBreakers = openBreakers.filter { now - $0.value.latest.until < Self.openMemory }
        hasChanged = false
        reportedAt = running.isEmpty && openBreakers.isEmpty ? nil : now
        let lanes = Set(running.keys).union(openBreakers.keys).sorted()  // lookup only
        return lanes.compactMap { lane in
            if let outage = running[lane] {
                return LaneOutage(
                    credential: lane.credential, cause: .unreachable, reason: outage.reason, age: now - outage.began)
            }
            guard let breaker = openBreakers[lane] else { return nil }
            let left = max(.zero, breaker.latest.until - now)
            return LaneOutage(
                credential: lane.credential, cause: .open(left), reason: Self.openReason, age: now - breaker.began)
        }
    }

    private static let openReason = "it answers most pushes with 429 or 503"

    /// Records that the report made of the last `take` failed.
    package mutating func reportFailed() { hasChanged = true }
}
