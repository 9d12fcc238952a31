import Basis
import LaneRules
import QueueRules
import Store

/// Which lanes of this process can't reach their provider, which rest since it asks for less, and whether the others know.
package struct LaneOutages {
    private struct Outage {
        let began: MonotonicInstant
        let reason: String
    }

    private struct BreakerSpan {
        /// Of the first one, of those with nothing but tries in between.
        let began: MonotonicInstant
        let latest: OpenBreaker
    }

    private var running: [LaneKey: Outage] = [:]
    private var openBreakers: [LaneKey: BreakerSpan] = [:]
    /// Something began or ended that was not told.
    private var hasChanged = false
    /// nil: not since the last one ended.
    private var reportedAt: MonotonicInstant?
    /// A quarter of the time after which what was told is no longer believed.
    private static let reportEvery: Duration = .seconds(15)
    /// So long after its end somebody would have said that it goes on, or that it is over.
    private static let openMemory = LaneThrottle.memory + .seconds(5)

    package init() {}

    /// - Returns: whether it is news: once an outage, however many dials fail. Another reason is told, but no news.
    package mutating func begin(of lane: LaneKey, _ reason: String, now: MonotonicInstant) -> Bool {
        let known = running[lane]
        if known?.reason != reason {
            running[lane] = Outage(began: known?.began ?? now, reason: reason)
            hasChanged = true
        }
        return known == nil
    }

    /// Its provider can be reached.
    package mutating func end(of lane: LaneKey) {
        if running.removeValue(forKey: lane) != nil { hasChanged = true }
    }

    /// - Returns: whether it is another one than was known, not the same for longer.
    package mutating func noteOpen(_ lane: LaneKey, _ breaker: OpenBreaker) -> Bool {
        let known = openBreakers[lane]
        openBreakers[lane] = BreakerSpan(began: known?.began ?? breaker.since, latest: breaker)
        hasChanged = true
        return known?.latest.since != breaker.since
    }

    /// Its provider takes what it is sent.
    package mutating func noteClosed(of lane: LaneKey) {
        if openBreakers.removeValue(forKey: lane) != nil { hasChanged = true }
    }

    /// Providers that can't be reached are those of open lanes.
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

    /// To be told now. In the order of their lanes. Who can't reach its provider and rests besides can't reach it.
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

    private static let openReason = "it answers most pushes 429 or 503"

    /// What was taken last reached nobody.
    package mutating func reportFailed() { hasChanged = true }
}
