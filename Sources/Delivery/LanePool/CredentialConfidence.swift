import Basis
import QueueRules

/// When each lane's credential was last taken by the provider: a push was accepted.
package struct CredentialConfidence {
    /// Longer, and a project that was deleted would cost its pushes their retries; shorter, and one push that can't be
    /// found would stop an app that sends little.
    static let lasts: Duration = .seconds(600)
    /// So many pushes that can't be found, and not one accepted between them: then it is the project that is gone.
    package static let notFoundMax = 100
    /// Lanes remembered at once; above it, those whose proof is over are forgotten.
    static let lanesMax = 4_096

    private struct Proof {
        let at: MonotonicInstant
        var notFoundSince = 0
    }

    private var proofs: [LaneKey: Proof] = [:]

    package init() {}

    package func isProven(_ lane: LaneKey, now: MonotonicInstant) -> Bool {
        guard let proof = proofs[lane] else { return false }
        return now - proof.at < Self.lasts && proof.notFoundSince < Self.notFoundMax
    }

    /// What one delivery of answers said about the lane.
    package mutating func note(_ lane: LaneKey, accepted: Int, notFound: Int, now: MonotonicInstant) {
        guard accepted == 0 else { return prove(lane, now) }
        proofs[lane]?.notFoundSince += notFound
    }

    private mutating func prove(_ lane: LaneKey, _ now: MonotonicInstant) {
        if proofs.count >= Self.lanesMax, proofs[lane] == nil {
            proofs = proofs.filter { now - $0.value.at < Self.lasts }
            if proofs.count >= Self.lanesMax { proofs = [:] }
        }
        proofs[lane] = Proof(at: now)
    }
}
