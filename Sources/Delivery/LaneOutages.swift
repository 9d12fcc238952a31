import DeliveryRules
import PushModel
import Store

/// Which lanes of this process can't reach their provider, which rest since it asks for less, and whether the others know.
package struct LaneOutages {
    private struct Outage {
        let began: MonotonicInstant
        let reason: String
    }

    private struct Rest {
        /// Of the first one, of those with nothing but tries in between.
        let began: MonotonicInstant
        let latest: LaneRest
    }

    private var running: [LaneKey: Outage] = [:]
    private var rests: [LaneKey: Rest] = [:]
    /// Something began or ended that was not told.
    private var hasChanged = false
    /// nil: not since the last one ended.
    private var toldAt: MonotonicInstant?
    /// A quarter of the time after which what was told is no longer believed.
    private static let retelling: Duration = .seconds(15)
    /// So long after its end somebody would have said that it goes on, or that it is over.
    private static let restMemory = LaneThrottle.memory + .seconds(5)

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
    package mutating func rest(_ lane: LaneKey, _ rest: LaneRest) -> Bool {
        let known = rests[lane]
        rests[lane] = Rest(began: known?.began ?? rest.since, latest: rest)
        hasChanged = true
        return known?.latest.since != rest.since
    }

    /// Its provider takes what it is sent.
    package mutating func endRest(of lane: LaneKey) {
        if rests.removeValue(forKey: lane) != nil { hasChanged = true }
    }

    /// Providers that can't be reached are those of open lanes.
    package mutating func endAll(but open: [LaneKey]) {
        for lane in running.keys.sorted() where !open.contains(lane) { end(of: lane) }
    }

    package mutating func endAll() {
        hasChanged = hasChanged || !running.isEmpty || !rests.isEmpty
        (running, rests) = ([:], [:])
    }

    package func areNews(now: MonotonicInstant) -> Bool {
        let areAny = !running.isEmpty || !rests.isEmpty
        return hasChanged || (areAny && toldAt.map { now - $0 >= Self.retelling } ?? true)
    }

    /// To be told now. In the order of their lanes. Who can't reach its provider and rests besides can't reach it.
    package mutating func take(now: MonotonicInstant) -> [LaneOutage] {
        rests = rests.filter { now - $0.value.latest.until < Self.restMemory }
        hasChanged = false
        toldAt = running.isEmpty && rests.isEmpty ? nil : now
        let lanes = Set(running.keys).union(rests.keys).sorted()  // lookup only
        return lanes.compactMap { lane in
            if let outage = running[lane] {
                return LaneOutage(
                    credential: lane.credential, cause: .unreachable, reason: outage.reason, age: now - outage.began)
            }
            guard let rest = rests[lane] else { return nil }
            let left = max(.zero, rest.latest.until - now)
            return LaneOutage(
                credential: lane.credential, cause: .resting(left), reason: Self.restReason, age: now - rest.began)
        }
    }

    private static let restReason = "it answers most pushes 429 or 503"

    /// What was taken last reached nobody.
    package mutating func notTold() { hasChanged = true }
}
