/// How one transaction divides the watches that it has claimed.
package enum FanOutDivision: Equatable, Sendable {
    /// The first watch has the transaction to itself, and reads many subscriptions. The others stay due.
    case firstAlone
    /// Watches with few subscriptions share the transaction. Each of the others waits until it comes first.
    ///
    /// - isTaken: one answer for each watch, in the order of the claims.
    case shared(isTaken: [Bool])

    /// - Parameters:
    ///   - counts: the subscriptions that were found for each watch, in the order of the claims.
    ///   - sharedMax: a watch for which so many were found may have more, and takes no part.
    package init(counts: [Int], sharedMax: Int) {
        precondition(!counts.isEmpty, "a transaction has a watch")
        if counts.count == 1 || counts[0] >= sharedMax {
            self = .firstAlone
        } else {
            self = .shared(isTaken: counts.map { $0 < sharedMax })
        }
    }

    /// Whether the transaction reads a watch.
    package func takes(_ index: Int) -> Bool {
        switch self {
        case .firstAlone: index == 0
        case .shared(let isTaken): isTaken[index]
        }
    }
}
