/// What goes to the database in turns: a few of them on their way at once, each with as much as has waited until then.
///
/// The first goes at once, so that one alone waits for nobody. A value: whoever carries a turn out says when it is over.
package struct BatchQueue<Entry: Sendable>: Sendable {
    /// On their way at once.
    private let batchesMax: Int
    /// In one of them.
    private let entriesMax: Int
    private var waiting: [Entry] = []
    /// Of `waiting`, those in front that have gone.
    private var goneCount = 0
    private var batchesOut = 0

    package init(batchesMax: Int, entriesMax: Int) {
        precondition(batchesMax > 0 && entriesMax > 0)
        self.batchesMax = batchesMax
        self.entriesMax = entriesMax
    }

    package mutating func add(_ entry: Entry) { waiting.append(entry) }

    /// The next turn, in the order in which they came; nil: nothing waits, or enough is on its way.
    package mutating func take() -> [Entry]? {
        guard batchesOut < batchesMax, goneCount < waiting.count else { return nil }
        batchesOut += 1
        let end = min(goneCount + entriesMax, waiting.count)
        let batch = Array(waiting[goneCount..<end])
        goneCount = end
        // Moved up now and then only, so that each entry is moved once or twice in all.
        if 2 * goneCount >= waiting.count {
            waiting.removeFirst(goneCount)
            goneCount = 0
        }
        return batch
    }

    /// One of them came back, whatever became of it.
    package mutating func end() {
        precondition(batchesOut > 0, "a turn ends once")
        batchesOut -= 1
    }

    /// Nothing waits, and nothing is on its way.
    package var isIdle: Bool { batchesOut == 0 && goneCount == waiting.count }
}
