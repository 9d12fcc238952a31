import DeliveryRules
import PushModel

/// When each lane's credential was last taken by the provider: a push was accepted.
struct LaneProofs {
    /// Longer, and a project that was deleted would cost its pushes their retries; shorter, and one push that can't be
    /// found would stop an app that sends little.
    static let lasts: Duration = .seconds(600)
    /// Lanes remembered at once; above it, those whose proof is over are forgotten.
    static let lanesMax = 4_096

    private var provenAt: [LaneKey: MonotonicInstant] = [:]

    func isProven(_ lane: LaneKey, now: MonotonicInstant) -> Bool {
        provenAt[lane].map { now - $0 < Self.lasts } ?? false
    }

    mutating func note(_ lane: LaneKey, now: MonotonicInstant) {
        if provenAt.count >= Self.lanesMax, provenAt[lane] == nil {
            provenAt = provenAt.filter { now - $0.value < Self.lasts }
            if provenAt.count >= Self.lanesMax { provenAt = [:] }
        }
        provenAt[lane] = now
    }
}
