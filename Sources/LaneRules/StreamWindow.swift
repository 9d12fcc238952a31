/// How many requests a lane risks on one connection at once, below what the peer allows.
///
/// A connection that breaks takes all that is in flight with it, and nobody knows what became of that. So a lane starts
/// with some streams and doubles with each round of answers, as TCP does; after a loss it takes an eighth of what was
/// answered since the loss before, and grows more slowly. A peer that breaks every hundred requests costs a tenth of
/// them; a break once a day costs nothing that could be measured.
package struct StreamWindow: Equatable, Sendable {
    /// Fewer would make a round trip of every handful of pushes.
    package static let floor = 8
    /// Doubled four times, within as many round trips, it is what Apple allows.
    package static let atStart = 128
    /// After a loss: so many answers for each stream before the window doubles, or that each stream of it stands for.
    private static let answersPerStream = 8

    private let ceiling: Int
    /// Requests in flight on one connection.
    package private(set) var limit: Int
    private var hasLost = false
    private var answersSinceLoss = 0
    private var answersSinceGrowth = 0

    /// - Parameter ceiling: the lane's own bound on a connection's streams.
    package init(ceiling: Int) {
        precondition(ceiling >= StreamWindow.floor)
        self.ceiling = ceiling
        limit = min(StreamWindow.atStart, ceiling)
    }

    /// A request was answered.
    package mutating func answered() {
        answersSinceLoss = min(answersSinceLoss + 1, Int.max - 1)
        if limit == ceiling { return }
        answersSinceGrowth += 1
        guard answersSinceGrowth >= (hasLost ? limit * StreamWindow.answersPerStream : limit) else { return }
        answersSinceGrowth = 0
        limit = min(limit * 2, ceiling)
    }

    /// A connection took requests in flight along.
    package mutating func lost() {
        // Connections that break together count once.
        guard answersSinceLoss > 0 || !hasLost else { return }
        limit = max(StreamWindow.floor, min(limit / 2, answersSinceLoss / StreamWindow.answersPerStream))
        hasLost = true
        answersSinceLoss = 0
        answersSinceGrowth = 0
    }
}
