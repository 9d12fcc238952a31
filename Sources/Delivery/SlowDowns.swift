import DeliveryRules
import PushModel

/// So many answers that tell the whole lane to slow down, and the longest pause that one of them asks for.
package struct SlowDowns: Equatable, Sendable {
    package private(set) var count = 0
    package private(set) var pause = Duration.zero

    package init() {}

    mutating func add(_ outcome: Outcome) {
        guard case .deferred(let after, let reason) = outcome, reason == .laneThrottled || reason == .providerBusy
        else { return }
        count += 1
        pause = max(pause, after ?? .zero)
    }
}

/// Lanes that were told to slow down not long ago: of the others, whose every answer is good, nobody has to hear.
///
/// Bounded by the lanes that there are: who was not told for long is forgotten.
struct LaneTroubles {
    private var toldAt: [LaneKey: MonotonicInstant] = [:]  // lookup only
    /// Longer than any rest is seldom: then the provider's next word is the first of a new trouble.
    private static let memory: Duration = .seconds(60)

    /// True where the lane has to hear of these answers.
    mutating func note(_ slowDowns: SlowDowns, on lane: LaneKey, _ now: MonotonicInstant) -> Bool {
        if slowDowns.count > 0 {
            toldAt[lane] = now
            return true
        }
        guard !toldAt.isEmpty, let at = toldAt[lane] else { return false }
        if now - at > Self.memory { toldAt[lane] = nil }
        return now - at <= Self.memory
    }
}
