/// Parcels of one service route and urgency that wait for encoding, in the order of their leases.
///
/// They are encoded one after the other, and each goes to its lane before the next is encoded. So the pushes due
/// longest leave first, and of two pushes to one device the one with the newer badge comes last.
package struct EncodingQueue<Parcel: Sendable>: Sendable {
    private var waiting: [Parcel] = []
    /// The number of parcels at the front of `waiting` that were taken.
    private var takenCount = 0
    private var hasMaker = false

    package init() {}

    /// - Returns: true if no worker is running. The caller then starts one, which takes until nothing is left.
    package mutating func add(_ parcel: Parcel) -> Bool {
        waiting.append(parcel)
        defer { hasMaker = true }
        return !hasMaker
    }

    /// Returns the next parcel to the worker; nil: nothing waits, and the worker ends.
    package mutating func take() -> Parcel? {
        guard takenCount < waiting.count else {
            self = EncodingQueue()
            return nil
        }
        let parcel = waiting[takenCount]
        takenCount += 1
        // The array is compacted only now and then, so that each parcel moves once or twice in all.
        if 2 * takenCount >= waiting.count {
            waiting.removeFirst(takenCount)
            takenCount = 0
        }
        return parcel
    }
}
