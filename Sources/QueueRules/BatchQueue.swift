/// Entries that go to the database in batches. A batch takes all that have gathered; a few batches are in flight at
/// once.
///
/// The first entry leaves at once, so a single entry waits for no other. A value: its user carries out the batches.
package struct BatchQueue<Entry: Sendable>: Sendable {
    private let batchesMax: Int
    private let entriesMax: Int
    /// nil: the entry has left, and what it holds may go.
    private var waiting: [Entry?] = []
    /// The entries at the front of `waiting` that have left.
    private var goneCount = 0
    private var batchesOut = 0

    package init(batchesMax: Int, entriesMax: Int) {
        precondition(batchesMax > 0 && entriesMax > 0)
        (self.batchesMax, self.entriesMax) = (batchesMax, entriesMax)
    }

    package mutating func add(_ entry: Entry) { waiting.append(entry) }

    /// The next batch, in order of arrival; nil: no entry waits, or `batchesMax` batches are in flight.
    package mutating func take() -> [Entry]? {
        guard batchesOut < batchesMax, goneCount < waiting.count else { return nil }
        batchesOut += 1
        let end = min(goneCount + entriesMax, waiting.count)
        let batch = waiting[goneCount..<end].compactMap(\.self)
        for place in goneCount..<end { waiting[place] = nil }
        goneCount = end
        // Compacted rarely, so that each entry is moved once or twice in all.
        if 2 * goneCount >= waiting.count {
            waiting.removeFirst(goneCount)
            goneCount = 0
        }
        return batch
    }

    /// One batch came back, whether it succeeded or failed.
    package mutating func end() {
        precondition(batchesOut > 0, "a batch ends only once")
        batchesOut -= 1
    }

    /// True while no entry waits and no batch is in flight.
    package var isIdle: Bool { batchesOut == 0 && goneCount == waiting.count }
}
