/// Which candidates of a watch have users who may read the path.
///
/// A user may subscribe again while the round reads: then the claims that were read first are old. So a denial that
/// depends on the user is checked twice, the second time with the subscription's row locked.
package struct CandidateAccess: Equatable, Sendable {
    private enum Verdict: Equatable {
        case allowed
        case denied
        /// The subscription was removed before its row was locked.
        case gone
    }

    private let candidates: [SubscriptionStatus]
    private var verdicts: [Verdict]

    /// - Parameter mayRead: one answer for each candidate, in their order.
    package init(_ candidates: [SubscriptionStatus], mayRead: [Bool]) {
        precondition(mayRead.count == candidates.count, "each candidate has its answer")
        self.candidates = candidates
        verdicts = mayRead.map { $0 ? .allowed : .denied }
    }

    package var allowed: [SubscriptionStatus] { all(.allowed) }
    package var denied: [SubscriptionStatus] { all(.denied) }

    private func all(_ verdict: Verdict) -> [SubscriptionStatus] {
        candidates.indices.filter { verdicts[$0] == verdict }.map { candidates[$0] }
    }

    /// Whether the denied ones are to be locked, and asked about again.
    package func needsSecondCheck(rulesNameUsers: Bool) -> Bool { rulesNameUsers && verdicts.contains(.denied) }

    /// Leaves out denied subscriptions that were removed meanwhile.
    /// - Parameter ids: the denied subscriptions whose rows are locked.
    package mutating func noteLocked(_ ids: [Int64]) {
        let locked = Set(ids)  // lookup only
        for index in candidates.indices where verdicts[index] == .denied && !locked.contains(candidates[index].id) {
            verdicts[index] = .gone
        }
    }

    /// - Parameter mayRead: one answer for each subscription of `denied`, in their order.
    package mutating func noteSecondCheck(_ mayRead: [Bool]) {
        let denied = candidates.indices.filter { verdicts[$0] == .denied }
        precondition(mayRead.count == denied.count, "each denied subscription has its answer")
        for (index, mayRead) in zip(denied, mayRead) where mayRead { verdicts[index] = .allowed }
    }
}
