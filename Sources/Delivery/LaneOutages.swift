import DeliveryRules
import PushModel
import Store

/// Which lanes of this process can't reach their provider, and whether the others know.
struct LaneOutages {
    private struct Outage {
        let began: MonotonicInstant
        let reason: String
    }

    private var running: [LaneKey: Outage] = [:]
    /// Something began or ended that was not told.
    private var hasChanged = false
    /// nil: not since the last one ended.
    private var toldAt: MonotonicInstant?
    /// A quarter of the time after which what was told is no longer believed.
    private static let retelling: Duration = .seconds(15)

    /// - Returns: whether it is news: once an outage, however many dials fail. Another reason is told, but no news.
    mutating func begin(of lane: LaneKey, _ reason: String, now: MonotonicInstant) -> Bool {
        let known = running[lane]
        if known?.reason != reason {
            running[lane] = Outage(began: known?.began ?? now, reason: reason)
            hasChanged = true
        }
        return known == nil
    }

    mutating func end(of lane: LaneKey) {
        if running.removeValue(forKey: lane) != nil { hasChanged = true }
    }

    mutating func endAll() {
        hasChanged = hasChanged || !running.isEmpty
        running = [:]
    }

    func areNews(now: MonotonicInstant) -> Bool {
        hasChanged || (!running.isEmpty && toldAt.map { now - $0 >= Self.retelling } ?? true)
    }

    /// To be told now. In the order of their lanes.
    mutating func take(now: MonotonicInstant) -> [LaneOutage] {
        hasChanged = false
        toldAt = running.isEmpty ? nil : now
        return running.sorted { $0.key < $1.key }.map { lane, outage in
            LaneOutage(credential: lane.credential, reason: outage.reason, age: now - outage.began)
        }
    }

    /// What was taken last reached nobody.
    mutating func notTold() { hasChanged = true }
}
