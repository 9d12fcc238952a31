import Basis
import QueueRules

/// The time at which the provider last accepted a push of each lane, which proves the lane's credential.
package struct CredentialConfidence {
    /// Longer, and a deleted project would cost its pushes their retries. Shorter, and one push that can't be found
    /// would stop an app that sends little.
    static let lasts: Duration = .seconds(600)
    /// After this many pushes that can't be found and none accepted in between, the project itself is gone.
    package static let notFoundMax = 100
    /// The number of lanes remembered; above it, those with an outdated proof are forgotten.
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

    /// Records one delivery of the lane's answers.
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
