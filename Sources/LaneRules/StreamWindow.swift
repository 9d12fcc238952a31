/// The number of requests in flight that a lane risks on one connection, below the peer's own limit.
///
/// A connection that breaks loses all requests in flight, with unknown outcomes. So the window starts small and doubles
/// with each round of answers, as TCP does. After a loss it is an eighth of the answers since the loss before, and
/// grows more slowly. A peer that breaks every hundred requests costs a tenth of them; a break once a day costs nothing
/// measurable.
package struct StreamWindow: Equatable, Sendable {
    /// Fewer would cost a round trip for every handful of pushes.
    package static let floor = 8
    /// Doubled four times, within as many round trips, it reaches what Apple allows.
    package static let atStart = 128
    /// After a loss: answers per stream before the window doubles, and answers since the loss before for each stream of
    /// the new window.
    private static let answersPerStream = 8

    private let ceiling: Int
    /// The most requests in flight on one connection.
    package private(set) var limit: Int
    private var hasLost = false
    private var answersSinceLoss = 0
    private var answersSinceGrowth = 0

    package init(ceiling: Int) {
        precondition(ceiling >= StreamWindow.floor)
        self.ceiling = ceiling
        limit = min(StreamWindow.atStart, ceiling)
    }

    package mutating func answered() {
        answersSinceLoss = min(answersSinceLoss + 1, Int.max - 1)
        if limit == ceiling { return }
        answersSinceGrowth += 1
        guard answersSinceGrowth >= (hasLost ? limit * StreamWindow.answersPerStream : limit) else { return }
        answersSinceGrowth = 0
        limit = min(limit * 2, ceiling)
    }

    /// Notes that a connection broke with requests in flight.
    package mutating func lost() {
        // Connections that break together count once.
        guard answersSinceLoss > 0 || !hasLost else { return }
        limit = max(StreamWindow.floor, min(limit / 2, answersSinceLoss / StreamWindow.answersPerStream))
        hasLost = true
        answersSinceLoss = 0
        answersSinceGrowth = 0
    }
}
